#include "images/store/lock_npm.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "node_modules/"
#define NAME_MAX_LENGTH 214 /* of npm's own rule */
#define VERSION_MAX_LENGTH 256
#define INTEGRITY_START "sha512-"
#define INTEGRITY_DIGITS 86 /* of 64 bytes in base64, before the "==" */

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* Part of a name: not "." or "..", not an option, no character special in a path or URL. */
static bool is_part(const char *text, size_t length)
{
    return length > 0 && isalnum((unsigned char)text[0]) &&
           strspn(text, LETTERS DIGITS "._~-") >= length &&
           !(length == strlen("node_modules") && strncasecmp(text, "node_modules", length) == 0);
}

static bool is_name(const char *text, size_t length)
{
    if (length > NAME_MAX_LENGTH || length == 0)
        return false;
    const char *slash = text[0] == '@' ? memchr(text, '/', length) : NULL;
    if (slash == NULL)
        return is_part(text, length);
    size_t scope = (size_t)(slash - text) - 1;
    return is_part(text + 1, scope) && is_part(slash + 1, length - scope - 2);
}

const char *lock_npm_name(const char *path)
{
    const char *name = path;
    for (const char *at = path; (at = strstr(at, "/" FOLDER)) != NULL; at++)
        name = at + 1;
    return strncmp(name, FOLDER, strlen(FOLDER)) == 0 ? name + strlen(FOLDER) : name;
}

/* node_modules/NAME, any number of times with slashes between. */
static bool is_path(const char *path)
{
    while (strncmp(path, FOLDER, strlen(FOLDER)) == 0) {
        path += strlen(FOLDER);
        const char *end = strstr(path, "/" FOLDER);
        if (!is_name(path, end != NULL ? (size_t)(end - path) : strlen(path)))
            return false;
        if (end == NULL)
            return true;
        path = end + 1;
    }
    return false;
}

/* A number without a leading zero; moves past it. */
static bool number_pass(const char **at)
{
    size_t length = strspn(*at, DIGITS);
    bool is_good = length > 0 && length < 16 && (length == 1 || **at != '0');
    *at += length;
    return is_good;
}

/* The dot-separated identifiers of a prerelease or build; moves past them. */
static bool words_pass(const char **at, bool is_prerelease)
{
    for (;; (*at)++) {
        size_t length = strspn(*at, LETTERS DIGITS "-");
        bool is_number = strspn(*at, DIGITS) == length;
        if (length == 0 || (is_prerelease && is_number && length > 1 && **at == '0'))
            return false;
        *at += length;
        if (**at != '.')
            return true;
    }
}

static bool sign_pass(const char **at, char sign)
{
    bool is_there = **at == sign;
    *at += is_there ? 1 : 0;
    return is_there;
}

/* Source: Semantic Versioning 2.0.0. */
static bool is_version(const char *at)
{
    if (strlen(at) > VERSION_MAX_LENGTH)
        return false;
    for (int i = 0; i < 3; i++)
        if ((i > 0 && !sign_pass(&at, '.')) || !number_pass(&at))
            return false;
    if (sign_pass(&at, '-') && !words_pass(&at, true))
        return false;
    if (sign_pass(&at, '+') && !words_pass(&at, false))
        return false;
    return *at == '\0';
}

/* http is allowed, for a registry in the local network: the integrity protects the contents. */
static bool is_archive_url(const char *url)
{
    static const char end[] = ".tgz";
    const char *start = strncmp(url, "http://", 7) == 0 ? "http://" : "https://";
    size_t length = strlen(url);
    if (length > LOCK_NPM_URL_MAX || strncmp(url, start, strlen(start)) != 0 ||
        strspn(url, LETTERS DIGITS ":/@%+._~-") != length)
        return false;
    const char *host = url + strlen(start);
    size_t host_length = strspn(host, LETTERS DIGITS ".-:");
    return host_length > 0 && isalnum((unsigned char)host[0]) && host[host_length] == '/' &&
           length > strlen(end) + strlen(start) + host_length + 1 &&
           strcmp(url + length - strlen(end), end) == 0 && url[length - strlen(end) - 1] != '/';
}

static bool is_integrity(const char *text)
{
    size_t start = strlen(INTEGRITY_START);
    return strncmp(text, INTEGRITY_START, start) == 0 &&
           strspn(text + start, LETTERS DIGITS "+/") == INTEGRITY_DIGITS &&
           strcmp(text + start + INTEGRITY_DIGITS, "==") == 0;
}

/* A member with a text without NUL; NULL if absent or anything else. */
static const char *text_of(const struct json_value *entry, const char *name)
{
    const struct json_value *value = json_member(entry, name);
    bool is_text =
        value != NULL && value->type == JSON_STRING && strlen(value->text) == value->length;
    return is_text ? value->text : NULL;
}

static bool is_bundled(const struct json_value *entry)
{
    const struct json_value *value = json_member(entry, "inBundle");
    return value != NULL && value->type == JSON_BOOLEAN && value->boolean;
}

/* The first error in the entry's members, or NULL. */
static const char *members_judge(const struct json_value *entry)
{
    const char *version = text_of(entry, "version");
    const char *name = text_of(entry, "name");
    const char *resolved = text_of(entry, "resolved");
    const char *integrity = text_of(entry, "integrity");
    if (version == NULL || !is_version(version))
        return "its version is none (1.2.3)";
    if (json_member(entry, "link") != NULL)
        return "it is a link";
    if (json_member(entry, "inBundle") != NULL && !is_bundled(entry))
        return "inBundle is not true";
    if (json_member(entry, "name") != NULL && (name == NULL || !is_name(name, strlen(name))))
        return "its name is no name of a package";
    if (is_bundled(entry))
        return json_member(entry, "resolved") != NULL || json_member(entry, "integrity") != NULL
                   ? "what is inBundle comes with another package, and from nowhere else"
                   : NULL;
    if (json_member(entry, "resolved") != NULL && (resolved == NULL || !is_archive_url(resolved)))
        return "resolved is no https address of a .tgz archive";
    return integrity == NULL || !is_integrity(integrity) ? "it has no sha512 integrity" : NULL;
}

/* The error in the entry's path, or NULL: a nested package needs its enclosing package. */
static const char *place_judge(const struct json_value *packages, const struct json_value *entry)
{
    if (strlen(entry->key) != entry->key_length || entry->key_length > LOCK_NPM_PATH_MAX ||
        !is_path(entry->key))
        return "it is no path node_modules/NAME";
    const char *name = lock_npm_name(entry->key);
    if (name == entry->key + strlen(FOLDER))
        return is_bundled(entry) ? "it is inBundle, but below no package" : NULL;
    OWNED_MEMORY char *above =
        strndup(entry->key, (size_t)(name - entry->key) - strlen("/" FOLDER));
    const struct json_value *parent = above != NULL ? json_member(packages, above) : NULL;
    if (parent == NULL)
        return "the package above it is not listed";
    return is_bundled(parent) && !is_bundled(entry) ? "the package above it is inBundle" : NULL;
}

static void entry_write(struct json_writer *writer, const struct json_value *entry)
{
    static const char *const names[] = {"version", "integrity", "name"};
    json_key(writer, entry->key);
    json_begin_object(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (json_member(entry, names[i]) != NULL)
            json_text_member(writer, names[i], text_of(entry, names[i]));
    json_end_object(writer);
}

static int packages_judge(const struct json_value *packages, struct fault *fault)
{
    if (packages->type != JSON_OBJECT || packages->count > LOCK_NPM_PACKAGES_MAX)
        return fault_set(fault, EINVAL, "npm is not an object of at most %d packages",
                         LOCK_NPM_PACKAGES_MAX);
    for (const struct json_value *entry = packages->first; entry != NULL; entry = entry->next) {
        const char *wrong = entry->type != JSON_OBJECT ? "it is no object" : NULL;
        wrong = wrong != NULL ? wrong : place_judge(packages, entry);
        wrong = wrong != NULL ? wrong : members_judge(entry);
        if (wrong != NULL)
            return fault_set(fault, EINVAL, "the npm package \"%.300s\": %s", entry->key, wrong);
    }
    return 0;
}

int lock_npm_take(const struct json_value *packages, struct lock *lock, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LOCK_MAX);
    struct json_writer *writer;
    int r = packages_judge(packages, fault);
    if (r < 0)
        return r;
    r = json_writer_open(&text, &writer);
    if (r == 0) {
        json_begin_object(writer);
        for (const struct json_value *entry = packages->first; entry != NULL; entry = entry->next)
            if (!is_bundled(entry))
                entry_write(writer, entry);
        json_end_object(writer);
        r = json_writer_close(writer);
    }
    const char *copy = r == 0 ? buffer_string(&text) : NULL;
    free(lock->npm);
    lock->npm = copy != NULL ? strdup(copy) : NULL;
    return lock->npm != NULL ? 0 : fault_set(fault, ENOMEM, "no memory for the npm packages");
}
