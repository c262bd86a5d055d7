#include "images/store/image_record.h"

#include "images/base/file.h"
#include "images/store/layer_store.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Copies a string without NUL; "" if the member is absent. */
static int read_text(const struct json_value *record, const char *name, char **ret_text)
{
    const struct json_value *value = json_member(record, name);
    if (value != NULL && (value->type != JSON_STRING || strlen(value->text) != value->length))
        return -EINVAL;
    char *text = strdup(value != NULL ? value->text : "");
    if (text == NULL)
        return -ENOMEM;
    *ret_text = text;
    return 0;
}

static int read_count(const struct json_value *record, const char *name, uint64_t *ret_count)
{
    int64_t count = 0;
    const struct json_value *value = json_member(record, name);
    if (value != NULL && (json_integer(value, &count) < 0 || count < 0))
        return -EINVAL;
    *ret_count = (uint64_t)count;
    return 0;
}

/* Whether each part of the path is a name: not empty, not "." and not "..". */
static bool parts_are_names(const char *path)
{
    for (;;) {
        size_t length = strcspn(path, "/");
        if (length == 0 || (length == 1 && path[0] == '.') ||
            (length == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        if (path[length] == '\0')
            return true;
        path += length + 1;
    }
}

/* Members of an object that are strings, without NUL in name and text. */
static bool member_is_plain(const struct json_value *member)
{
    return member->type == JSON_STRING && strlen(member->text) == member->length &&
           strlen(member->key) == member->key_length;
}

static int read_home(const struct json_value *record, struct image *image)
{
    const struct json_value *home = json_member(record, "home");
    if (home == NULL)
        return 0;
    if (home->type != JSON_OBJECT)
        return -EINVAL;
    image->home_links = calloc(home->count + 1, sizeof(*image->home_links));
    if (image->home_links == NULL)
        return -ENOMEM;
    for (const struct json_value *member = home->first; member != NULL; member = member->next) {
        if (!member_is_plain(member) || !parts_are_names(member->key) || member->text[0] != '/' ||
            !parts_are_names(member->text + 1))
            return -EINVAL;
        struct home_link *link = &image->home_links[image->home_link_count++];
        link->path = strdup(member->key);
        link->target = strdup(member->text);
        if (link->path == NULL || link->target == NULL)
            return -ENOMEM;
    }
    return 0;
}

static int read_environment(const struct json_value *record, struct image *image)
{
    const struct json_value *environment = json_member(record, "environment");
    if (environment != NULL && environment->type != JSON_OBJECT)
        return -EINVAL;
    size_t count = environment != NULL ? environment->count : 0;
    image->environment = calloc(count + 1, sizeof(*image->environment));
    if (image->environment == NULL)
        return -ENOMEM;
    char **next = image->environment;
    const struct json_value *member = environment != NULL ? environment->first : NULL;
    for (; member != NULL; member = member->next) {
        if (!member_is_plain(member) || member->key_length == 0 || strchr(member->key, '=') != NULL)
            return -EINVAL;
        if (asprintf(next, "%s=%s", member->key, member->text) < 0) {
            *next = NULL;
            return -ENOMEM;
        }
        next++;
    }
    return 0;
}

static int read_layer(const struct json_value *value, struct image_layer *layer)
{
    OWNED_MEMORY char *id = NULL;
    if (value->type != JSON_OBJECT)
        return -EINVAL;
    int r = read_text(value, "id", &id);
    if (r == 0 && !layer_store_id_is_valid(id))
        r = -EINVAL;
    if (r == 0)
        memcpy(layer->id, id, sizeof(layer->id));
    if (r == 0)
        r = read_text(value, "origin", &layer->origin);
    if (r == 0)
        r = read_text(value, "created", &layer->created);
    if (r == 0)
        r = read_count(value, "size_bytes", &layer->size_bytes);
    return r == 0 ? read_count(value, "file_count", &layer->file_count) : r;
}

static int read_layers(const struct json_value *record, struct image *image)
{
    const struct json_value *layers = json_member(record, "layers");
    if (layers == NULL)
        return 0;
    if (layers->type != JSON_ARRAY || layers->count == 0 || layers->count > IMAGE_LAYERS_MAX)
        return -EINVAL;
    image->layers = calloc(layers->count, sizeof(*image->layers));
    if (image->layers == NULL)
        return -ENOMEM;
    int r = 0;
    const struct json_value *value = layers->first;
    for (; r == 0 && value != NULL; value = value->next)
        r = read_layer(value, &image->layers[image->layer_count++]);
    return r;
}

static int read_members(const struct json_value *record, struct image *image)
{
    if (record->type != JSON_OBJECT)
        return -EINVAL;
    int r = read_text(record, "source", &image->source);
    if (r == 0)
        r = read_text(record, "created", &image->created);
    if (r == 0)
        r = read_text(record, "summary", &image->summary);
    if (r == 0)
        r = read_count(record, "size_bytes", &image->size_bytes);
    if (r == 0)
        r = read_count(record, "file_count", &image->file_count);
    if (r == 0)
        r = read_count(record, "source_changed", &image->source_changed);
    if (r == 0)
        r = read_home(record, image);
    if (r == 0)
        r = read_environment(record, image);
    return r == 0 ? read_layers(record, image) : r;
}

int image_record_read(int directory_fd, struct image *image, struct fault *fault)
{
    OWNED_FD int fd = openat(directory_fd, RECORD_FILE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0)
        return fault_set(fault, errno, "cannot open " RECORD_FILE ": %m");
    OWNED(buffer_release) struct buffer text = BUFFER(RECORD_MAX);
    int r = text_file_read_all(fd, &text);
    if (r < 0)
        return fault_set(fault, r == -ENOBUFS ? EFBIG : -r, "cannot read " RECORD_FILE ": %m");
    OWNED(json_release) struct json *json = NULL;
    r = json_parse(text.data, text.length, &json, fault);
    if (r < 0) {
        fault_prefix(fault, RECORD_FILE " is damaged");
        return r == -ENOMEM ? r : -EINVAL;
    }
    r = read_members(json_root(json), image);
    if (r < 0)
        return fault_set(fault, -r, "a member of " RECORD_FILE " is invalid: %m");
    return 0;
}

void image_record_write_layers(struct json_writer *writer, const struct image *image)
{
    json_key(writer, "layers");
    json_begin_array(writer);
    for (size_t i = 0; i < image->layer_count; i++) {
        const struct image_layer *layer = &image->layers[i];
        json_begin_object(writer);
        json_text_member(writer, "id", layer->id);
        json_text_member(writer, "origin", layer->origin);
        json_text_member(writer, "created", layer->created);
        json_number_member(writer, "size_bytes", (int64_t)layer->size_bytes);
        json_number_member(writer, "file_count", (int64_t)layer->file_count);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_members(struct json_writer *writer, const struct image *image)
{
    json_begin_object(writer);
    json_text_member(writer, "name", image->name);
    json_text_member(writer, "source", image->source);
    json_text_member(writer, "created", image->created);
    json_text_member(writer, "summary", image->summary);
    json_number_member(writer, "size_bytes", (int64_t)image->size_bytes);
    json_number_member(writer, "file_count", (int64_t)image->file_count);
    if (image->source_changed > 0)
        json_number_member(writer, "source_changed", (int64_t)image->source_changed);
    json_key(writer, "home");
    json_begin_object(writer);
    for (size_t i = 0; i < image->home_link_count; i++) {
        json_text_member(writer, image->home_links[i].path, image->home_links[i].target);
    }
    json_end_object(writer);
    json_key(writer, "environment");
    json_begin_object(writer);
    for (char **pair = image->environment; pair != NULL && *pair != NULL; pair++) {
        size_t length = strcspn(*pair, "=");
        OWNED_MEMORY char *name = strndup(*pair, length);
        json_text_member(writer, name != NULL ? name : "",
                         *pair + length + ((*pair)[length] == '='));
    }
    json_end_object(writer);
    if (image->layer_count > 0)
        image_record_write_layers(writer, image);
    json_end_object(writer);
}

int image_record_write(int directory_fd, const struct image *image, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(RECORD_MAX);
    struct json_writer *writer;
    int r = json_writer_open(&text, &writer);
    if (r == 0) {
        write_members(writer, image);
        r = json_writer_close(writer);
    }
    if (r == 0)
        r = buffer_append_text(&text, "\n");
    if (r < 0)
        return fault_set(fault, -r, "cannot compose " RECORD_FILE ": %m");
    return file_create(directory_fd, RECORD_FILE, text.data, text.length, fault);
}
