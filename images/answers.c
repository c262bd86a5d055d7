#include "images/answers.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>

char *apt_value(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && strncmp(line + length, "='", 2) == 0) {
            const char *value = line + length + 2;
            return strndup(value, strcspn(value, "'\n"));
        }
    }
    return NULL;
}

void apt_uris_sum(const char *text, size_t *ret_count, uint64_t *ret_bytes)
{
    size_t count = 0;
    uint64_t bytes = 0;
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        unsigned long long size;
        if (*line == '\'' && sscanf(line, "'%*[^'\n]' %*s %llu", &size) == 1) {
            count++;
            bytes += size;
        }
    }
    *ret_count = count;
    *ret_bytes = bytes;
}

bool npm_record_version(const char *json, size_t length, char version[VERSION_SIZE])
{
    OWNED(json_release) struct json *record = NULL;
    if (json_parse(json, length, &record, NULL) < 0)
        return false;
    const struct json_value *value = json_member(json_root(record), "version");
    if (value == NULL || value->type != JSON_STRING)
        return false;
    snprintf(version, VERSION_SIZE, "%s", value->text);
    return true;
}

bool status_version(const char *status, const char *package, char version[VERSION_SIZE])
{
    char start[128];
    if (package == NULL || status == NULL)
        return false;
    snprintf(start, sizeof(start), "\nPackage: %s\n", package);
    const char *stanza = strstr(status, start);
    const char *line = stanza != NULL ? strstr(stanza, "\nVersion: ") : NULL;
    const char *end = stanza != NULL ? strstr(stanza, "\n\n") : NULL;
    if (line == NULL || (end != NULL && end < line))
        return false;
    line += strlen("\nVersion: ");
    size_t epoch = strcspn(line, ":\n");
    if (line[epoch] == ':')
        line += epoch + 1;
    snprintf(version, VERSION_SIZE, "%.*s", (int)strcspn(line, "-+~\n"), line);
    return true;
}
