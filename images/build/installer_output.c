#include "images/build/installer_output.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

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

static const char *line_next(const char *line)
{
    const char *newline = strchr(line, '\n');
    return newline != NULL && newline[1] != '\0' ? newline + 1 : NULL;
}

uint64_t apt_installed_sum(const char *text)
{
    uint64_t kibibytes = 0;
    for (const char *line = text; line != NULL && *line != '\0'; line = line_next(line)) {
        unsigned long size; /* of one package: no more than 32 bits */
        if (sscanf(line, "Installed-Size: %9lu", &size) == 1)
            kibibytes += size;
    }
    return kibibytes << 10;
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

bool distribution_version(const char *path, char version[VERSION_SIZE])
{
    static const char ending[] = ".dist-info";
    const char *slash = strrchr(path, '/');
    const char *start = strchr(slash != NULL ? slash : path, '-');
    size_t length = start != NULL ? strlen(++start) : 0;
    size_t wanted = strlen(ending);
    if (length <= wanted || strcmp(start + length - wanted, ending) != 0)
        return false;
    snprintf(version, VERSION_SIZE, "%.*s", (int)(length - wanted), start);
    return true;
}

/* Copies one line, without control characters. */
static const char *line_copy(const char *text, char line[ANSWER_LINE_SIZE])
{
    size_t length = strcspn(text, "\n");
    if (length >= ANSWER_LINE_SIZE)
        length = ANSWER_LINE_SIZE - 1;
    memcpy(line, text, length);
    line[length] = '\0';
    utf8_make_plain(line, false);
    return line;
}

const char *pip_failure(const char *text, char line[ANSWER_LINE_SIZE])
{
    static const char start[] = "ERROR: ";
    if (strstr(text, "connection broken by") != NULL)
        return line_copy("its index cannot be reached", line);
    const char *at = text;
    for (const char *next; strncmp(at, start, strlen(start)) != 0; at = next) {
        next = line_next(at);
        if (next == NULL)
            return line_copy(at, line);
    }
    return line_copy(at + strlen(start), line);
}

/* npm's message in the line; "" for a line of numbers. npm 9 and older use another prefix. */
static const char *npm_words(const char *line)
{
    static const char *const starts[] = {"npm error ", "npm ERR! "};
    static const char *const numbers[] = {"code ", "errno ", "syscall "};
    const char *words = "";
    for (size_t i = 0; i < ARRAY_LENGTH(starts); i++)
        if (strncmp(line, starts[i], strlen(starts[i])) == 0)
            words = line + strlen(starts[i]);
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
        if (strncmp(words, numbers[i], strlen(numbers[i])) == 0)
            words = "";
    return words;
}

const char *npm_failure(const char *text, char line[ANSWER_LINE_SIZE])
{
    for (const char *at = text, *next;; at = next) {
        const char *words = npm_words(at);
        next = line_next(at);
        if (words[0] != '\0' && words[0] != '\n')
            return line_copy(words, line);
        if (next == NULL)
            return line_copy(at, line);
    }
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
