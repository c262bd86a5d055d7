#include "interpreter/workers/carried_left.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <string.h>

static const char *const reasons[LEFT_REASONS] = {[LEFT_ELSEWHERE] = "elsewhere",
                                                  [LEFT_UNREADABLE] = "unreadable",
                                                  [LEFT_TOO_DEEP] = "too_deep",
                                                  [LEFT_UNLISTED] = "unlisted"};
static const char *const places[LEFT_PLACES] = {
    [LEFT_IN_WORK] = "work", [LEFT_IN_TEMPORARY] = "temporary", [LEFT_IN_HOME] = "home"};

static void write_one(struct json_writer *writer, const char *reason, const struct run_left *left)
{
    json_begin_object(writer);
    json_text_member(writer, "reason", reason);
    json_text_member(writer, "place", places[left->place]);
    json_text_member(writer, "path", left->path);
    json_boolean_member(writer, "directory", left->is_directory);
    json_number_member(writer, "size", (int64_t)left->size);
    json_end_object(writer);
}

void carried_left_write(struct json_writer *writer, const struct run_left_out *left_out)
{
    json_key(writer, "left");
    json_begin_array(writer);
    for (size_t reason = 0; reason < LEFT_REASONS; reason++) {
        for (size_t i = 0; i < left_out->count[reason]; i++)
            write_one(writer, reasons[reason], &left_out->list[reason][i]);
    }
    json_end_array(writer);
    json_key(writer, "left_more");
    json_begin_object(writer);
    for (size_t reason = 0; reason < LEFT_REASONS; reason++)
        json_number_member(writer, reasons[reason], (int64_t)left_out->more[reason]);
    json_end_object(writer);
}

bool carried_left_is_path(const struct json_value *path)
{
    if (path == NULL || path->type != JSON_STRING || path->length >= RUN_FILE_PATH_SIZE ||
        strlen(path->text) != path->length)
        return false;
    const char *part = path->text;
    for (;;) {
        size_t length = strcspn(part, "/");
        bool is_dots = length <= 2 && strspn(part, ".") >= length;
        if (length == 0 || is_dots)
            return false;
        if (part[length] == '\0')
            return true;
        part += length + 1;
    }
}

/* The number of the name in the list; `count`: it is none. */
static size_t find(const char *const *names, size_t count, const struct json_value *name)
{
    size_t i = 0;
    while (i < count && !json_is(name, names[i]))
        i++;
    return i;
}

static bool read_count(const struct json_value *value, int64_t high, int64_t *ret_count)
{
    return json_integer(value, ret_count) == 0 && *ret_count >= 0 && *ret_count <= high;
}

static int read_one(const struct json_value *entry, struct run_left_out *left_out)
{
    const struct json_value *path = json_member(entry, "path");
    const struct json_value *directory = json_member(entry, "directory");
    size_t reason = find(reasons, LEFT_REASONS, json_member(entry, "reason"));
    size_t place = find(places, LEFT_PLACES, json_member(entry, "place"));
    int64_t size = 0;
    if (reason == LEFT_REASONS || place == LEFT_PLACES ||
        (!carried_left_is_path(path) && !json_is(path, ".")) || directory == NULL ||
        directory->type != JSON_BOOLEAN ||
        !read_count(json_member(entry, "size"), INT64_MAX, &size) ||
        left_out->count[reason] == RUN_LEFT_MAX)
        return -EBADMSG;
    char *copy = strdup(path->text);
    if (copy == NULL)
        return -ENOMEM;
    left_out->list[reason][left_out->count[reason]++] =
        (struct run_left){.path = copy,
                          .place = (enum left_place)place,
                          .is_directory = directory->boolean,
                          .size = (uint64_t)size};
    return 0;
}

static int read_list(const struct json_value *list, struct run_left_out *left_out)
{
    int r = list != NULL && list->type == JSON_ARRAY ? 0 : -EBADMSG;
    for (const struct json_value *entry = r == 0 ? list->first : NULL; r == 0 && entry != NULL;
         entry = entry->next)
        r = read_one(entry, left_out);
    return r;
}

int carried_left_read(const struct json_value *value, struct run_left_out *ret_left_out)
{
    OWNED(run_left_out_release) struct run_left_out left_out = {0};
    const struct json_value *list = json_member(value, "left");
    const struct json_value *more = json_member(value, "left_more");
    int r = read_list(list, &left_out);
    for (size_t reason = 0; r == 0 && reason < LEFT_REASONS; reason++) {
        int64_t count = 0;
        if (!read_count(json_member(more, reasons[reason]), INT32_MAX, &count))
            r = -EBADMSG;
        left_out.more[reason] = (size_t)count;
    }
    if (r < 0)
        return r;
    *ret_left_out = left_out;
    left_out = (struct run_left_out){0};
    return 0;
}
