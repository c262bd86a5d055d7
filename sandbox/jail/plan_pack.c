#include "sandbox/jail/plan_pack.h"

#include "sandbox/base/owned.h"

#include <string.h>

#define ALIGNMENT 16
#define NO_TEXT SIZE_MAX

struct plan_writer {
    struct buffer *bytes;
    uintptr_t address;
    bool is_key;
    int status; /* the first error */
};

/* Where in an element of an array the pointers to its texts are. */
struct texts {
    size_t at[2];
};

/* All of an element but its texts is plain: whoever adds a member, and so changes the size, decides here. */
#define TEXTS_OF(tag, size, ...)                                                                   \
    static const struct texts tag##_texts = {{__VA_ARGS__}};                                       \
    _Static_assert(sizeof(struct tag) == (size), "a new member of struct " #tag);
#define AT(tag, member) offsetof(struct tag, member)
TEXTS_OF(plan_scratch, 24, AT(plan_scratch, name), AT(plan_scratch, target))
TEXTS_OF(plan_device, 16, AT(plan_device, source), AT(plan_device, name))
TEXTS_OF(plan_link, 16, AT(plan_link, path), AT(plan_link, target))
TEXTS_OF(plan_user_limit, 16, AT(plan_user_limit, path), AT(plan_user_limit, value))
TEXTS_OF(plan_shown, 16, AT(plan_shown, host_path), AT(plan_shown, image_path))
TEXTS_OF(plan_folder, 48, AT(plan_folder, path), AT(plan_folder, place))
TEXTS_OF(plan_folder_part, 40, AT(plan_folder_part, path), NO_TEXT)
TEXTS_OF(plan_file, 32, AT(plan_file, path), NO_TEXT)
TEXTS_OF(plan_path_rights, 16, AT(plan_path_rights, path), NO_TEXT)
TEXTS_OF(plan_rlimit, 24, NO_TEXT, NO_TEXT)
TEXTS_OF(sock_filter, 8, NO_TEXT, NO_TEXT)

static void *put(struct plan_writer *writer, const void *data, size_t size)
{
    static const char padding[ALIGNMENT];
    void *place = (void *)(writer->address + writer->bytes->length);
    if (writer->status == 0)
        writer->status = buffer_append(writer->bytes, data, size);
    if (writer->status == 0)
        writer->status = buffer_append(writer->bytes, padding, -size % ALIGNMENT);
    return place;
}

static void *put_text(struct plan_writer *writer, const char *text)
{
    return text == NULL ? NULL : put(writer, text, strlen(text) + 1);
}

/* Copies what the pointer at `at` of the bytes points to, `size` bytes or a text, and points there. */
static void move(struct plan_writer *writer, size_t at, size_t size)
{
    const char *data;
    if (writer->status < 0)
        return;
    memcpy(&data, writer->bytes->data + at, sizeof(data));
    data = data == NULL || size == 0 ? NULL : put(writer, data, size);
    if (writer->status == 0)
        memcpy(writer->bytes->data + at, &data, sizeof(data));
}

static void move_text(struct plan_writer *writer, size_t at)
{
    const char *text = NULL;
    if (writer->status == 0)
        memcpy(&text, writer->bytes->data + at, sizeof(text));
    move(writer, at, text != NULL ? strlen(text) + 1 : 0);
}

static void *put_array(struct plan_writer *writer, const void *elements, size_t count, size_t size,
                       const struct texts *texts)
{
    size_t begin = writer->bytes->length;
    void *place = put(writer, elements, count * size);
    for (size_t i = 0; i < count; i++)
        for (size_t text = 0; text < ARRAY_LENGTH(texts->at); text++)
            if (texts->at[text] != NO_TEXT)
                move_text(writer, begin + i * size + texts->at[text]);
    return place;
}

static void *put_list(struct plan_writer *writer, const char *const *list)
{
    static const struct texts first = {{0, NO_TEXT}};
    size_t count = 0;
    if (list == NULL)
        return NULL;
    while (list[count] != NULL)
        count++;
    return put_array(writer, list, count + 1, sizeof(*list), &first);
}

/* `place` is where put_array() has put the files. */
static void put_contents(struct plan_writer *writer, const struct jail_plan *plan,
                         const void *place)
{
    size_t begin = (uintptr_t)place - writer->address;
    for (size_t i = 0; i < plan->home_file_count; i++)
        move(writer, begin + i * sizeof(struct plan_file) + offsetof(struct plan_file, bytes),
             writer->is_key ? 0 : plan->home_files[i].length);
}

/* Member by member, so that what is between them is zero. */
static int write_plan(struct plan_writer *writer, const struct jail_plan *plan)
{
    struct jail_plan copy;
    memset(&copy, 0, sizeof(copy));
    put(writer, &copy, sizeof(copy));
#define DESCRIPTOR(name) copy.name = writer->is_key ? -1 : plan->name;
#define VALUE(type, name) copy.name = plan->name;
#define TEXT(name) copy.name = put_text(writer, plan->name);
#define LIST(type, name) copy.name = put_list(writer, (const char *const *)plan->name);
#define ARRAY(tag, name, count)                                                                    \
    copy.count = plan->count;                                                                      \
    copy.name = put_array(writer, plan->name, plan->count, sizeof(struct tag), &tag##_texts);
#include "sandbox/jail/child/jail_plan.def"
    put_contents(writer, plan, copy.home_files);
    if (writer->status == 0)
        memcpy(writer->bytes->data, &copy, sizeof(copy));
    return writer->status;
}

int plan_pack(const struct jail_plan *plan, uintptr_t address, struct buffer *bytes)
{
    return write_plan(&(struct plan_writer){bytes, address, false, 0}, plan);
}

int plan_pack_key(const struct jail_plan *plan, struct buffer *bytes)
{
    return write_plan(&(struct plan_writer){bytes, 0, true, 0}, plan);
}
