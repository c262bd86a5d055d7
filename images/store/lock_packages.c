#include "images/store/lock.h"

#include "images/base/url_user.h"
#include "images/store/catalog.h"
#include "images/store/lock_npm.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+.-_~:!"

/* Names and versions become command line arguments: each must be one word and no option. */
static bool is_plain(const struct json_value *value)
{
    return value != NULL && value->type == JSON_STRING && value->length > 0 &&
           value->text[0] != '-' && strspn(value->text, NAME_LETTERS) == value->length;
}

static int read_package(const struct json_value *value, struct lock *lock, struct fault *fault)
{
    const struct json_value *kind = json_member(value, "kind");
    const struct json_value *name = json_member(value, "name");
    const struct json_value *version = json_member(value, "version");
    const struct json_value *digest = json_member(value, "digest");
    struct lock_entry entry = {.kind = kind != NULL && json_is(kind, "pip") ? LOCK_PIP : LOCK_DEB};
    bool is_known = kind != NULL && (json_is(kind, "pip") || json_is(kind, "deb"));
    if (!is_known || !is_plain(name) || !is_plain(version) || digest == NULL ||
        digest->type != JSON_STRING ||
        digest_parse(digest->text, digest->length, &entry.descriptor.digest) < 0)
        return fault_set(fault, EINVAL,
                         "that is no lock of packages: one has no name and version, "
                         "or no digest, as it should");
    entry.name = (char *)name->text;
    entry.version = (char *)version->text;
    return lock_add_package(lock, &entry, fault);
}

static int read_npm(const struct json_value *npm, struct lock *lock, struct fault *fault)
{
    int r = npm != NULL ? lock_npm_take(npm, lock, fault) : 0;
    if (r == -EINVAL)
        fault_prefix(fault, "the lock is damaged (`fetch --force NAME` makes a new one)");
    return r;
}

int lock_read_packages(const char *json, size_t length, struct lock *ret_lock, struct fault *fault)
{
    OWNED(json_release) struct json *parsed = NULL;
    OWNED(lock_release) struct lock lock = {0};
    int r = json_parse(json, length, &parsed, fault);
    if (r < 0) {
        fault_prefix(fault, "the lock is damaged");
        return r == -ENOMEM ? r : -EINVAL;
    }
    const struct json_value *recipe = json_member(json_root(parsed), "recipe");
    const struct json_value *fetched = json_member(json_root(parsed), "fetched");
    if (recipe == NULL)
        return 1;
    if (recipe->type != JSON_STRING || recipe_find(recipe->text) == NULL)
        return fault_set(fault, EINVAL, "the lock is of an image that this version cannot make");
    if (fetched == NULL || fetched->type != JSON_ARRAY || fetched->count == 0)
        return fault_set(fault, EINVAL, "the lock is damaged: it lists nothing");
    lock.recipe = strdup(recipe->text);
    if (lock.recipe == NULL)
        return fault_set(fault, ENOMEM, "no memory for the lock");
    for (const struct json_value *value = fetched->first; r == 0 && value != NULL;
         value = value->next)
        r = read_package(value, &lock, fault);
    if (r == 0)
        r = read_npm(json_member(json_root(parsed), "npm"), &lock, fault);
    if (r < 0)
        return r;
    *ret_lock = lock;
    lock = (struct lock){0};
    return 0;
}

void lock_requests_free(char **requests)
{
    for (char **request = requests; request != NULL && *request != NULL; request++)
        free(*request);
    free(requests);
}

char **lock_requests(const struct lock *lock, enum lock_kind kind)
{
    char **requests = calloc(lock->count + 1, sizeof(*requests));
    size_t count = 0;
    for (size_t i = 0; requests != NULL && i < lock->count; i++) {
        const struct lock_entry *entry = &lock->entries[i];
        if (entry->kind != kind)
            continue;
        int r = kind == LOCK_PIP ? asprintf(&requests[count], "%s==%s --hash=%s", entry->name,
                                            entry->version, entry->descriptor.digest.text)
                                 : asprintf(&requests[count], "%s=%s", entry->name, entry->version);
        if (r < 0) {
            requests[count] = NULL;
            lock_requests_free(requests);
            return NULL;
        }
        count++;
    }
    return requests;
}

/* "NAME_VERSION_ARCHITECTURE.deb", in which an epoch's colon is %3a, cut into its parts. */
static bool file_name_cut(char *file, char **ret_name, char **ret_version)
{
    char *version = strchr(file, '_');
    char *architecture = version != NULL ? strchr(version + 1, '_') : NULL;
    if (architecture == NULL)
        return false;
    *version++ = '\0';
    *architecture = '\0';
    char *colon = strstr(version, "%3a");
    if (colon != NULL) {
        *colon = ':';
        memmove(colon + 1, colon + 3, strlen(colon + 3) + 1);
    }
    *ret_name = file;
    *ret_version = version;
    return true;
}

static int add_uri(struct lock *lock, const char *line, struct fault *fault)
{
    OWNED_MEMORY char *url = NULL;
    OWNED_MEMORY char *file = NULL;
    OWNED_MEMORY char *hash = NULL;
    unsigned long long size;
    struct lock_entry entry = {.kind = LOCK_DEB};
    char digest[DIGEST_TEXT_MAX];
    if (sscanf(line, "'%m[^'\n]' %ms %llu SHA256:%m[0-9a-f]", &url, &file, &size, &hash) != 4 ||
        !file_name_cut(file, &entry.name, &entry.version))
        return 0; /* not a line of a package */
    int length = snprintf(digest, sizeof(digest), "sha256:%s", hash);
    if (length < 0 || digest_parse(digest, strlen(digest), &entry.descriptor.digest) < 0)
        return fault_set(fault, EPROTO, "apt gave no digest of %s", entry.name);
    url_users_remove(url); /* whoever gets the lock has a login of their own, or none */
    entry.url = url;
    entry.descriptor.size = size;
    return lock_add_package(lock, &entry, fault);
}

int lock_add_uris(struct lock *lock, const char *text, struct fault *fault)
{
    int r = 0;
    for (const char *line = text; r == 0 && line != NULL && *line != '\0';) {
        r = add_uri(lock, line, fault);
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return r;
}

int lock_add_requirements(struct lock *lock, const char *text, struct fault *fault)
{
    int r = 0;
    for (const char *line = text; r == 0 && line != NULL && *line != '\0';) {
        OWNED_MEMORY char *name = NULL;
        OWNED_MEMORY char *version = NULL;
        OWNED_MEMORY char *digest = NULL;
        struct lock_entry entry = {.kind = LOCK_PIP};
        if (sscanf(line, "%m[^= \n]==%m[^ \n] --hash=%m[^ \n]", &name, &version, &digest) == 3 &&
            digest_parse(digest, strlen(digest), &entry.descriptor.digest) == 0) {
            entry.name = name;
            entry.version = version;
            r = lock_add_package(lock, &entry, fault);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return r;
}

static const struct lock_entry *package_find(const struct lock *lock, const char *name)
{
    for (size_t i = 0; i < lock->count; i++)
        if (lock->entries[i].kind == LOCK_DEB && strcmp(lock->entries[i].name, name) == 0)
            return &lock->entries[i];
    return NULL;
}

int lock_compare(const struct lock *wanted, const struct lock *found, struct fault *fault)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct lock_entry *entry = &found->entries[i];
        const struct lock_entry *other =
            entry->kind == LOCK_DEB ? package_find(wanted, entry->name) : entry;
        if (other == NULL)
            return fault_set(fault, ESTALE, "the package %s is wanted now, but not in the lock",
                             entry->name);
        if (!digest_equal(&entry->descriptor.digest, &other->descriptor.digest))
            return fault_set(fault, ESTALE, "the package %s %s has another digest than in the lock",
                             entry->name, entry->version);
    }
    for (size_t i = 0; i < wanted->count; i++)
        if (wanted->entries[i].kind == LOCK_DEB &&
            package_find(found, wanted->entries[i].name) == NULL)
            return fault_set(fault, ESTALE, "the package %s of the lock does not come any more",
                             wanted->entries[i].name);
    return 0;
}
