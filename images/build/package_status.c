#include "images/build/package_status.h"

#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define ALPHANUMERIC LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define RELATION ALPHANUMERIC "+.:~-_ ,|()<>=![]"

enum { FIELD_PACKAGE, FIELD_VERSION, FIELD_ARCHITECTURE, FIELD_STATUS };

#define FIELD_COUNT 10

static const struct field {
    const char *name;
    const char *characters; /* allowed in the value */
    size_t maximum;         /* bytes */
} fields[FIELD_COUNT] = {
    [FIELD_PACKAGE] = {"Package", LOWER "0123456789+.-", 255},
    [FIELD_VERSION] = {"Version", ALPHANUMERIC "+.:~-", 255},
    [FIELD_ARCHITECTURE] = {"Architecture", LOWER "0123456789-", 64},
    [FIELD_STATUS] = {"Status", LOWER " -", 64},
    {"Multi-Arch", LOWER, 16},
    {"Essential", LOWER, 16},
    {"Provides", RELATION, 64 << 10},
    {"Conflicts", RELATION, 64 << 10},
    {"Breaks", RELATION, 64 << 10},
    {"Replaces", RELATION, 64 << 10},
};

/* The fields of one package, pointing into the status; length 0: absent. */
struct stanza {
    const char *values[FIELD_COUNT];
    size_t lengths[FIELD_COUNT];
    size_t number; /* from 1 */
};

static bool is_plain(const struct field *field, const char *value, size_t length)
{
    return length > 0 && length <= field->maximum && strspn(value, field->characters) >= length &&
           value[0] != '-';
}

/* Stores the line if it is a known field. 0 or -EINVAL. */
static int stanza_take(struct stanza *stanza, const char *line, size_t length, struct fault *fault)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        size_t start = strlen(fields[i].name);
        if (length <= start || line[start] != ':' || strncasecmp(line, fields[i].name, start) != 0)
            continue;
        for (start++; start < length && (line[start] == ' ' || line[start] == '\t');)
            start++;
        while (length > start && line[length - 1] == ' ')
            length--;
        if (stanza->lengths[i] > 0 || !is_plain(&fields[i], line + start, length - start))
            return fault_set(fault, EINVAL,
                             "the package status of the image is damaged: %s of package %zu",
                             fields[i].name, stanza->number);
        stanza->values[i] = line + start;
        stanza->lengths[i] = length - start;
        return 0;
    }
    return 0;
}

static bool is_installed(const struct stanza *stanza)
{
    static const char end[] = " installed";
    const size_t size = sizeof(end) - 1, length = stanza->lengths[FIELD_STATUS];
    return length > size && memcmp(stanza->values[FIELD_STATUS] + length - size, end, size) == 0;
}

/* Writes the package, unless it is not installed, and begins the next. */
static int stanza_end(struct stanza *stanza, struct buffer *text, struct fault *fault)
{
    const struct stanza ended = *stanza;
    *stanza = (struct stanza){.number = ended.number + 1};
    if (!is_installed(&ended))
        return 0;
    if (ended.number > PACKAGE_STATUS_PACKAGES_MAX)
        return fault_set(fault, EINVAL, "the package status of the image has over %d packages",
                         PACKAGE_STATUS_PACKAGES_MAX);
    for (size_t i = 0; i <= FIELD_ARCHITECTURE; i++)
        if (ended.lengths[i] == 0)
            return fault_set(fault, EINVAL,
                             "the package status of the image is damaged: package %zu has no %s",
                             ended.number, fields[i].name);
    int r = 0;
    for (size_t i = 0; r == 0 && i < FIELD_COUNT; i++)
        if (i == FIELD_STATUS)
            r = buffer_append_text(text, "Status: install ok installed\n");
        else if (ended.lengths[i] > 0)
            r = buffer_format(text, "%s: %.*s\n", fields[i].name, (int)ended.lengths[i],
                              ended.values[i]);
    if (r == 0)
        r = buffer_append_text(text, "\n");
    return r < 0 ? fault_set(fault, -r, "cannot compose a package status: %m") : 0;
}

int package_status_rebuild(const char *status, struct buffer *ret_text, struct fault *fault)
{
    struct stanza stanza = {.number = 1};
    int r = 0;
    while (r == 0 && *status != '\0') {
        size_t length = strcspn(status, "\n");
        if (length == 0)
            r = stanza_end(&stanza, ret_text, fault);
        else
            r = stanza_take(&stanza, status, length, fault);
        status += length + (status[length] == '\n');
    }
    return r == 0 ? stanza_end(&stanza, ret_text, fault) : r;
}
