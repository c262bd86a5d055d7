/*
 * A value of a setting, as a variable or an option has it; the first byte chooses which. Numbers are
 * read by rules of our own, told here once more in exact arithmetic, and sizes come back as they
 * were when they are read from what people are told.
 */
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/limits-check.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define FAR ((unsigned __int128)1 << 100)

/* The digits at the start of a text, and where they end; FAR when there are none, or too many. */
static unsigned __int128 read_digits(const char **text)
{
    unsigned __int128 number = isdigit((unsigned char)**text) ? 0 : FAR;
    for (; isdigit((unsigned char)**text); ++*text)
        number = number < FAR ? number * 10 + (unsigned)(**text - '0') : FAR;
    return number < FAR ? number : FAR;
}

static unsigned __int128 read_size(const char *text)
{
    static const char letters[] = "KMGT";
    unsigned __int128 number = read_digits(&text);
    if (*text == '\0' || number == FAR)
        return number;
    const char *letter = strchr(letters, toupper((unsigned char)*text));
    if (letter == NULL || (text[1] != '\0' && strcasecmp(text + 1, "iB") != 0))
        return FAR;
    number <<= 10 * (letter - letters + 1);
    return number < FAR ? number : FAR;
}

/* Of "12.345" and the like, in thousandths; FAR where it is written otherwise, or finer. */
static unsigned __int128 read_decimal(const char *text)
{
    unsigned __int128 whole = read_digits(&text);
    unsigned __int128 parts = 0;
    if (*text == '.') {
        const char *start = ++text;
        parts = read_digits(&text);
        if (text - start > 3 || text == start)
            return FAR;
        for (long digits = text - start; digits < 3; digits++)
            parts *= 10;
    }
    /* Doubles are exact that far. */
    return *text == '\0' && whole < (1 << 30) ? whole * 1000 + parts : FAR;
}

static void check_size(const struct quantity *quantity, const char *text)
{
    uint64_t bytes = 0;
    struct fault fault = {0};
    int r = quantity_read_size(quantity, text, &bytes, &fault);
    unsigned __int128 expected = read_size(text);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK((r == 0) == (expected >= quantity->low && expected <= quantity->high));
    if (r < 0)
        return;
    FUZZ_CHECK(bytes == expected);
    struct quantity_size_text told = quantity_size_text(bytes);
    char *space = strchr(told.text, ' ');
    FUZZ_CHECK(space != NULL);
    if (strcmp(space, " bytes") == 0)
        *space = '\0';
    else
        memmove(space, space + 1, strlen(space));
    FUZZ_CHECK(read_size(told.text) == bytes);
    FUZZ_CHECK(memchr(quantity_size_about_text(bytes).text, '\0', sizeof(told.text)) != NULL);
}

static void check_count(const struct quantity *quantity, const char *text)
{
    uint64_t number = 0;
    struct fault fault = {0};
    int r = quantity_read_integer(quantity, text, &number, &fault);
    const char *end = text;
    unsigned __int128 expected = read_digits(&end);
    fuzz_check_fault(r, &fault);
    bool is_good = *end == '\0' && expected >= quantity->low && expected <= quantity->high;
    FUZZ_CHECK((r == 0) == is_good);
    FUZZ_CHECK(r < 0 || number == expected);
}

static void check_thousandths(const struct quantity *quantity, const char *text)
{
    uint64_t number = 0;
    struct fault fault = {0};
    int r = quantity_read_thousandths(quantity, text, &number, &fault);
    unsigned __int128 expected = read_decimal(text);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r < 0 || (number >= quantity->low && number <= quantity->high));
    if (expected == FAR)
        return;
    FUZZ_CHECK((r == 0) == (expected >= quantity->low && expected <= quantity->high));
    FUZZ_CHECK(r < 0 || number == expected);
}

static const struct setting *choose_setting(uint8_t number)
{
    for (const struct option *const *table = setting_tables; *table != NULL; table++) {
        for (const struct option *option = *table; option->name != NULL; option++) {
            if (option->setting != NULL && number-- == 0)
                return option->setting;
        }
    }
    return choose_setting(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    const struct setting *setting = choose_setting(fuzz_byte(&input) % 32);
    const char *what = setting->variable != NULL ? setting->variable : setting->key;
    OWNED_MEMORY char *text = fuzz_rest(&input);
    OWNED(settings_release) struct settings settings = settings_default();
    struct fault fault = {0};
    /* fuzz-environment reads such files: here it would open any path. */
    if (setting->kind == SETTING_ENVIRONMENT_FILE)
        return 0;
    int r = setting_set(&settings, setting, what, text, &fault);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r == 0 || strstr(fault.text, what) != NULL);
    limits_check(&settings);
    const struct quantity quantity = {"it", "units", setting->low, setting->high};
    const struct quantity wide = {"it", "units", 0, UINT64_MAX / 2};
    check_size(&quantity, text);
    check_size(&wide, text);
    check_count(&quantity, text);
    check_count(&wide, text);
    check_thousandths(&quantity, text);
    return 0;
}
