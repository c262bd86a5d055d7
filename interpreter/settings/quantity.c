#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIGITS "0123456789"
#define THOUSAND 1000

static const struct unit {
    const char *letter, *name;
    const char *short_name; /* binary, too, as for Docker's --memory */
    unsigned shift;         /* it is 1 << shift bytes */
} units[] = {
    {"T", "TiB", "TB", 40},
    {"G", "GiB", "GB", 30},
    {"M", "MiB", "MB", 20},
    {"K", "KiB", "KB", 10},
};

static const struct time_unit {
    const char *name;
    double thousandths;
} time_units[] = {{"", 1e3}, {"s", 1e3}, {"ms", 1}, {"m", 60e3}, {"min", 60e3}, {"h", 3600e3}};

/* The largest unit that the bytes fill, and that divides them if it must; NULL: none does. */
static const struct unit *find_unit(uint64_t bytes, bool must_divide)
{
    for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
        uint64_t unit = UINT64_C(1) << units[i].shift;
        if (bytes >= unit && (!must_divide || (bytes & (unit - 1)) == 0))
            return &units[i];
    }
    return NULL;
}

struct quantity_size_text quantity_size_text(uint64_t bytes)
{
    const struct unit *unit = find_unit(bytes, true);
    struct quantity_size_text size = {0};
    snprintf(size.text, sizeof(size.text), "%" PRIu64 " %s",
             unit != NULL ? bytes >> unit->shift : bytes, unit != NULL ? unit->name : "bytes");
    return size;
}

struct quantity_size_text quantity_size_about_text(uint64_t bytes)
{
    const struct unit *unit = find_unit(bytes, false);
    if (unit == NULL || unit == find_unit(bytes, true))
        return quantity_size_text(bytes);
    struct quantity_size_text size = {0};
    snprintf(size.text, sizeof(size.text), "%.1f %s",
             (double)bytes / (double)(UINT64_C(1) << unit->shift), unit->name);
    return size;
}

int quantity_read_integer(const struct quantity *quantity, const char *text, uint64_t *ret_number,
                          struct fault *fault)
{
    errno = 0;
    uint64_t number = strtoull(text, NULL, 10);
    if (errno != 0 || text[0] == '\0' || text[strspn(text, DIGITS)] != '\0' ||
        number < quantity->low || number > quantity->high)
        return fault_set(fault, EINVAL,
                         "%s must be a whole number from %" PRIu64 " to %" PRIu64 ", not \"%.40s\"",
                         quantity->what, quantity->low, quantity->high, text);
    *ret_number = number;
    return 0;
}

/* Reads what stands behind a number of bytes, "" or a unit. False: it is none. */
static bool read_unit(const char *text, unsigned *ret_shift)
{
    *ret_shift = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
        if (strcasecmp(text, units[i].letter) == 0 || strcasecmp(text, units[i].name) == 0 ||
            strcasecmp(text, units[i].short_name) == 0)
            *ret_shift = units[i].shift;
    }
    return text[0] == '\0' || *ret_shift != 0;
}

int quantity_read_size(const struct quantity *quantity, const char *text, uint64_t *ret_bytes,
                       struct fault *fault)
{
    size_t digits = strspn(text, DIGITS);
    errno = 0;
    uint64_t number = strtoull(text, NULL, 10);
    unsigned shift = 0;
    if (errno != 0 || digits == 0 || !read_unit(text + digits, &shift) ||
        number > quantity->high >> shift || number << shift < quantity->low)
        return fault_set(fault, EINVAL,
                         "%s must be a size from %s to %s, written as 512M, 2G or a number of "
                         "bytes, not \"%.40s\"",
                         quantity->what, quantity_size_text(quantity->low).text,
                         quantity_size_text(quantity->high).text, text);
    *ret_bytes = number << shift;
    return 0;
}

/* The number at the front of the text; *ret_rest is what follows it. False: there is none. */
static bool read_number(const char *text, double *ret_number, const char **ret_rest)
{
    /* No sign, no white space, no "inf", no hexadecimal: those are strtod's, not people's. */
    bool is_plain = text[0] != '\0' && strchr(DIGITS ".", text[0]) != NULL &&
                    !(text[0] == '0' && (text[1] == 'x' || text[1] == 'X'));
    char *end = NULL;
    *ret_number = is_plain ? strtod(text, &end) : -1;
    *ret_rest = is_plain ? end : text;
    return is_plain && end != text;
}

/* NaN is outside of every range. */
static bool take_thousandths(const struct quantity *quantity, double thousandths,
                             uint64_t *ret_thousandths)
{
    thousandths += 0.5; /* rounded below, by the cast */
    if (!(thousandths >= (double)quantity->low) || !(thousandths < (double)quantity->high + 1))
        return false;
    *ret_thousandths = (uint64_t)thousandths;
    return true;
}

int quantity_read_thousandths(const struct quantity *quantity, const char *text,
                              uint64_t *ret_thousandths, struct fault *fault)
{
    const char *rest;
    double number;
    if (read_number(text, &number, &rest) && rest[0] == '\0' &&
        take_thousandths(quantity, number * THOUSAND, ret_thousandths))
        return 0;
    return fault_set(fault, EINVAL, "%s must be a number of %s from %.8g to %.8g, not \"%.40s\"",
                     quantity->what, quantity->unit, (double)quantity->low / THOUSAND,
                     (double)quantity->high / THOUSAND, text);
}

int quantity_read_duration(const struct quantity *quantity, const char *text,
                           uint64_t *ret_milliseconds, struct fault *fault)
{
    const char *rest;
    double number;
    bool is_number = read_number(text, &number, &rest);
    for (size_t i = 0; is_number && i < ARRAY_LENGTH(time_units); i++)
        if (strcmp(rest, time_units[i].name) == 0 &&
            take_thousandths(quantity, number * time_units[i].thousandths, ret_milliseconds))
            return 0;
    return fault_set(fault, EINVAL,
                     "%s must be a number of seconds from %.8g to %.8g, or a time with a unit such "
                     "as 500ms, 90s, 5m or 1h, not \"%.40s\"",
                     quantity->what, (double)quantity->low / THOUSAND,
                     (double)quantity->high / THOUSAND, text);
}

struct quantity_size_text quantity_size_short_text(uint64_t bytes)
{
    if (bytes == 1)
        return (struct quantity_size_text){"1 byte"};
    struct quantity_size_text exact = quantity_size_text(bytes);
    return bytes < KIBIBYTE || strstr(exact.text, "bytes") == NULL
               ? exact
               : quantity_size_about_text(bytes);
}
