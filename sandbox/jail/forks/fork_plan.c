#include "sandbox/jail/forks/fork_plan.h"

#include "sandbox/base/owned.h"

#include <string.h>

#define ALIGNMENT 16
#define NO_TEXT SIZE_MAX

struct writer {
    struct buffer *bytes;
    uintptr_t address;
    int status; /* the first error */
};

/* Where the next object will be. */
static void *next_place(const struct writer *writer)
{
    return (void *)(writer->address + writer->bytes->length);
}

static void *put(struct writer *writer, const void *data, size_t size)
{
    static const char padding[ALIGNMENT];
    void *place = next_place(writer);
    if (writer->status == 0)
        writer->status = buffer_append(writer->bytes, data, size);
    if (writer->status == 0)
        writer->status = buffer_append(writer->bytes, padding, -size % ALIGNMENT);
    return place;
}

static const char *put_text(struct writer *writer, const char *text)
{
    return text == NULL ? NULL : put(writer, text, strlen(text) + 1);
}

/* An array whose elements point to texts at up to two offsets. */
struct array {
    const void *elements;
    size_t count, size;
    size_t texts[2];
};

/* Copies the text that an element at `at` of the bytes points to, and points there. */
static void move_text(struct writer *writer, size_t at)
{
    const char *text;
    memcpy(&text, writer->bytes->data + at, sizeof(text));
    text = put_text(writer, text);
    if (writer->status == 0)
        memcpy(writer->bytes->data + at, &text, sizeof(text));
}

static void *put_array(struct writer *writer, const struct array *array)
{
    size_t begin = writer->bytes->length;
    void *place = put(writer, array->elements, array->count * array->size);
    for (size_t i = 0; i < array->count; i++)
        for (size_t text = 0; text < ARRAY_LENGTH(array->texts); text++)
            if (writer->status == 0 && array->texts[text] != NO_TEXT)
                move_text(writer, begin + i * array->size + array->texts[text]);
    return place;
}

#define ARRAY_OF(elements, count, type, first, second)                                             \
    (&(const struct array){                                                                        \
        elements, count, sizeof(type), {offsetof(type, first), offsetof(type, second)}})
#define PLAIN_ARRAY(elements, count)                                                               \
    (&(const struct array){elements, count, sizeof((elements)[0]), {NO_TEXT, NO_TEXT}})

static const struct plan_file *put_files(struct writer *writer, const struct jail_plan *plan)
{
    size_t begin = writer->bytes->length;
    void *place = put(writer, plan->home_files, plan->home_file_count * sizeof(*plan->home_files));
    for (size_t i = 0; i < plan->home_file_count; i++) {
        struct plan_file file = plan->home_files[i];
        file.path = put_text(writer, file.path);
        file.bytes = put(writer, file.bytes, file.length);
        if (writer->status == 0)
            memcpy(writer->bytes->data + begin + i * sizeof(file), &file, sizeof(file));
    }
    return place;
}

static void put_arrays(struct writer *writer, const struct jail_plan *plan, struct jail_plan *copy)
{
    copy->scratch = put_array(
        writer, ARRAY_OF(plan->scratch, plan->scratch_count, struct plan_scratch, name, target));
    copy->devices = put_array(
        writer, ARRAY_OF(plan->devices, plan->device_count, struct plan_device, source, name));
    copy->dev_links = put_array(
        writer, ARRAY_OF(plan->dev_links, plan->dev_link_count, struct plan_link, path, target));
    copy->user_limits = put_array(writer, ARRAY_OF(plan->user_limits, plan->user_limit_count,
                                                   struct plan_user_limit, path, value));
    copy->home_links = put_array(
        writer, ARRAY_OF(plan->home_links, plan->home_link_count, struct plan_link, path, target));
    copy->path_rights = put_array(
        writer, &(const struct array){plan->path_rights,
                                      plan->path_rights_count,
                                      sizeof(struct plan_path_rights),
                                      {offsetof(struct plan_path_rights, path), NO_TEXT}});
    copy->masks = put_array(
        writer, &(const struct array){plan->masks, plan->mask_count, sizeof(char *), {0, NO_TEXT}});
    copy->home_files = put_files(writer, plan);
    copy->rlimits = put_array(writer, PLAIN_ARRAY(plan->rlimits, plan->rlimit_count));
    copy->filter.filter = put_array(writer, PLAIN_ARRAY(plan->filter.filter, plan->filter.len));
}

static void put_texts(struct writer *writer, const struct jail_plan *plan, struct jail_plan *copy)
{
    copy->hostname = put_text(writer, plan->hostname);
    copy->init_name = put_text(writer, plan->init_name);
    copy->program_name = put_text(writer, plan->program_name);
    copy->root_path = put_text(writer, plan->root_path);
    copy->scratch_size = put_text(writer, plan->scratch_size);
    copy->scratch_inodes = put_text(writer, plan->scratch_inodes);
    copy->home = put_text(writer, plan->home);
    copy->temporary = put_text(writer, plan->temporary);
    copy->work_directory = put_text(writer, plan->work_directory);
    copy->packages = put_text(writer, plan->packages);
    copy->code_name = put_text(writer, plan->code_name);
}

/* Whoever adds a member decides here whether a fork needs it. */
_Static_assert(sizeof(struct jail_plan) == 656,
               "a new member of struct jail_plan: fork_plan_write()");

/* Member by member: a pointer that is not named here is NULL. */
int fork_plan_write(const struct jail_plan *plan, uintptr_t address, struct buffer *bytes)
{
    struct jail_plan copy = {
        .kind = plan->kind,
        .base = plan->base,
        .control_fd = plan->control_fd,
        .stdin_fd = plan->stdin_fd,
        .stdout_fd = plan->stdout_fd,
        .stderr_fd = plan->stderr_fd,
        .channel_fd = -1,
        .cells_fd = -1,
        .files_fd = plan->files_fd,
        .network_fd = plan->network_fd,
        .code_fd = plan->code_fd,
        .root_tree_fd = -1,
        .uid = plan->uid,
        .gid = plan->gid,
        .is_fork = true,
        .scratch_count = plan->scratch_count,
        .device_count = plan->device_count,
        .dev_link_count = plan->dev_link_count,
        .user_limit_count = plan->user_limit_count,
        .mask_count = plan->mask_count,
        .home_link_count = plan->home_link_count,
        .home_file_count = plan->home_file_count,
        .rlimit_count = plan->rlimit_count,
        .nice = plan->nice,
        .landlock_abi = plan->landlock_abi,
        .path_rights_count = plan->path_rights_count,
        .last_capability = plan->last_capability,
        .filter.len = plan->filter.len,
        .session = SESSION_NONE,
        .has_stdin = plan->has_stdin,
        .is_warm = plan->is_warm,
    };
    struct writer writer = {bytes, address, 0};
    put(&writer, &copy, sizeof(copy));
    put_texts(&writer, plan, &copy);
    put_arrays(&writer, plan, &copy);
    if (writer.status == 0)
        memcpy(bytes->data, &copy, sizeof(copy));
    return writer.status;
}
