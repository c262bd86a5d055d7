/*
 * What apt, dpkg's status, pip and npm say: any text, and a status file as dpkg writes it, whose
 * other packages and long descriptions change nothing of the version that is looked for. The last
 * line is that version, and the first the name of another package.
 */
#include "images/build/installer_output.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define TEXT_MAX (1 << 20)

static void check_version(const char *version)
{
    FUZZ_CHECK(strnlen(version, VERSION_SIZE) < VERSION_SIZE);
}

static void check_any(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *text = fuzz_rest(&input);
    OWNED_MEMORY char *value = apt_value(text, "FILE");
    FUZZ_CHECK(value == NULL || strpbrk(value, "'\n") == NULL);
    size_t count = 0;
    uint64_t bytes = 0;
    apt_uris_sum(text, &count, &bytes);
    FUZZ_CHECK(count <= strlen(text));
    char version[VERSION_SIZE] = "as it was";
    if (!status_version(text, "python3", version))
        FUZZ_CHECK(strcmp(version, "as it was") == 0);
    check_version(version);
    if (distribution_version(text, version))
        FUZZ_CHECK(strstr(text, ".dist-info") != NULL);
    check_version(version);
    char line[ANSWER_LINE_SIZE];
    FUZZ_CHECK(strpbrk(pip_failure(text, line), "\n\r\033") == NULL);
    FUZZ_CHECK(strpbrk(npm_failure(text, line), "\n\r\033") == NULL);
    if (npm_record_version((const char *)data, size, version))
        check_version(version);
}

/* The version that a package shows to people, told once more: without epoch and what is Debian's. */
static void strip(char *version)
{
    const char *colon = strchr(version, ':');
    if (colon != NULL)
        memmove(version, colon + 1, strlen(colon));
    version[strcspn(version, "-+~")] = '\0';
    if (strlen(version) >= VERSION_SIZE)
        version[VERSION_SIZE - 1] = '\0';
}

static void check_status(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *other = fuzz_line(&input);
    OWNED_MEMORY char *wanted = fuzz_line(&input);
    if (wanted == NULL || strcmp(other, "python3") == 0)
        return;
    OWNED(buffer_release) struct buffer status = BUFFER(TEXT_MAX);
    FUZZ_CHECK(buffer_format(&status,
                             "\nPackage: %s\nVersion: 1\n\nPackage: python3\nStatus: installed\n"
                             "Version: %s\nDescription: x\n%s\n\nPackage: last\nVersion: 2\n",
                             other, wanted, " .") == 0);
    char version[VERSION_SIZE] = "";
    FUZZ_CHECK(status_version(buffer_string(&status), "python3", version));
    strip(wanted);
    FUZZ_CHECK(strcmp(version, wanted) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_any(data, size);
    check_status(data, size);
    return 0;
}
