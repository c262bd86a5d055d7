#include "images/store/lock.h"

#include "images/base/file.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <string.h>

static int no_memory(struct fault *fault)
{
    return fault_set(fault, ENOMEM, "no memory for the lock");
}

static void entry_free(struct lock_entry *entry)
{
    free(entry->url);
    free(entry->name);
    free(entry->version);
}

static bool text_copy(const char *text, char **ret_copy)
{
    *ret_copy = text != NULL ? strdup(text) : NULL;
    return text == NULL || *ret_copy != NULL;
}

int lock_add_package(struct lock *lock, const struct lock_entry *entry, struct fault *fault)
{
    struct lock_entry *grown = reallocarray(lock->entries, lock->count + 1, sizeof(*grown));
    if (grown == NULL)
        return no_memory(fault);
    lock->entries = grown;
    struct lock_entry copy = {.kind = entry->kind, .descriptor = entry->descriptor};
    if (!text_copy(entry->url, &copy.url) || !text_copy(entry->name, &copy.name) ||
        !text_copy(entry->version, &copy.version)) {
        entry_free(&copy);
        return no_memory(fault);
    }
    grown[lock->count++] = copy;
    return 0;
}

int lock_add(struct lock *lock, enum lock_kind kind, const char *url,
             const struct descriptor *descriptor, struct fault *fault)
{
    const struct lock_entry entry = {
        .kind = kind,
        .url = (char *)url,
        .descriptor = *descriptor,
    };
    return lock_add_package(lock, &entry, fault);
}

static const char *const kinds[] = {"manifest", "configuration", "layer", "deb", "pip"};

static void write_entry(struct json_writer *writer, const struct lock_entry *entry)
{
    json_begin_object(writer);
    json_text_member(writer, "kind", kinds[entry->kind]);
    if (entry->url != NULL)
        json_text_member(writer, "url", entry->url);
    if (entry->name != NULL)
        json_text_member(writer, "name", entry->name);
    if (entry->version != NULL)
        json_text_member(writer, "version", entry->version);
    json_text_member(writer, "digest", entry->descriptor.digest.text);
    json_number_member(writer, "size", (int64_t)entry->descriptor.size);
    json_end_object(writer);
}

int lock_write(int directory_fd, const struct lock *lock, const char *source, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LOCK_MAX);
    struct json_writer *writer;
    if (lock->count == 0)
        return 0;
    int r = json_writer_open(&text, &writer);
    if (r == 0) {
        json_begin_object(writer);
        json_text_member(writer, "source", source);
        if (lock->recipe != NULL)
            json_text_member(writer, "recipe", lock->recipe);
        json_key(writer, "fetched");
        json_begin_array(writer);
        for (size_t i = 0; i < lock->count; i++)
            write_entry(writer, &lock->entries[i]);
        json_end_array(writer);
        if (lock->npm != NULL) {
            json_key(writer, "npm");
            json_raw(writer, lock->npm, strlen(lock->npm));
        }
        json_end_object(writer);
        r = json_writer_close(writer);
    }
    if (r == 0)
        r = buffer_append_text(&text, "\n");
    if (r < 0)
        return fault_set(fault, -r, "cannot compose " LOCK_FILE ": %m");
    return file_create(directory_fd, LOCK_FILE, text.data, text.length, fault);
}

int lock_read(const char *json, size_t length, struct reference *ret_reference, struct fault *fault)
{
    OWNED(json_release) struct json *parsed = NULL;
    int r = json_parse(json, length, &parsed, fault);
    if (r < 0) {
        fault_prefix(fault, "the lock is damaged");
        return r == -ENOMEM ? r : -EINVAL;
    }
    const struct json_value *source = json_member(json_root(parsed), "source");
    const struct json_value *fetched = json_member(json_root(parsed), "fetched");
    const struct json_value *first =
        fetched != NULL && fetched->type == JSON_ARRAY ? fetched->first : NULL;
    const struct json_value *digest = json_member(first, "digest");
    struct reference reference = {0};
    if (source == NULL || source->type != JSON_STRING || strlen(source->text) != source->length ||
        json_member(first, "url") == NULL || digest == NULL || digest->type != JSON_STRING ||
        reference_parse(source->text, &reference, NULL) < 0 ||
        digest_parse(digest->text, digest->length, &reference.digest) < 0)
        return fault_set(fault, EINVAL, "not a lock of an image from a registry");
    *ret_reference = reference;
    return 0;
}

void lock_release(struct lock *lock)
{
    for (size_t i = 0; i < lock->count; i++)
        entry_free(&lock->entries[i]);
    free(lock->entries);
    free(lock->recipe);
    free(lock->npm);
    *lock = (struct lock){0};
}
