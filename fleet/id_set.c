#include "fleet/id_set.h"

#include "fleet/call_line.h"
#include "fleet/result_line.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define FIRST_CAPACITY 1024
#define READ_SIZE (256 * KIBIBYTE)
#define RESULT_MAX (RESULT_JSON_MAX(RUN_OUTPUT_KEPT_MAX) + READ_SIZE)

void id_set_release(struct id_set *set)
{
    buffer_release(&set->texts);
    free(set->places);
    *set = (struct id_set){0};
}

/* FNV-1a. */
static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return hash;
}

static const char *text_at(const struct id_set *set, uint64_t place, size_t *ret_length)
{
    const char *entry = set->texts.data + place - 1;
    memcpy(ret_length, entry, sizeof(*ret_length));
    return entry + sizeof(*ret_length);
}

/* The slot of the text, or the free one where it belongs. The table has a free one. */
static size_t find_slot(const struct id_set *set, const char *text, size_t length)
{
    size_t slot = hash_of(text, length) & (set->capacity - 1);
    for (; set->places[slot] != 0; slot = (slot + 1) & (set->capacity - 1)) {
        size_t other_length;
        const char *other = text_at(set, set->places[slot], &other_length);
        if (other_length == length && memcmp(other, text, length) == 0)
            break;
    }
    return slot;
}

/* Keeps at least half of the slots free. */
static int ensure_room(struct id_set *set)
{
    if (set->count < set->capacity / 2)
        return 0;
    struct id_set larger = *set;
    larger.capacity = set->capacity > 0 ? 2 * set->capacity : FIRST_CAPACITY;
    larger.places = calloc(larger.capacity, sizeof(*larger.places));
    if (larger.places == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < set->capacity; i++) {
        size_t length;
        if (set->places[i] == 0)
            continue;
        const char *text = text_at(set, set->places[i], &length);
        larger.places[find_slot(&larger, text, length)] = set->places[i];
    }
    free(set->places);
    *set = larger;
    return 0;
}

int id_set_add(struct id_set *set, const char *text, size_t length)
{
    int r = ensure_room(set);
    if (r < 0)
        return r;
    size_t slot = find_slot(set, text, length);
    if (set->places[slot] != 0)
        return 0;
    set->texts.maximum = IDS_BYTES_MAX;
    r = buffer_reserve(&set->texts, sizeof(length) + length);
    if (r < 0)
        return r;
    uint64_t place = set->texts.length + 1;
    buffer_append(&set->texts, &length, sizeof(length));
    buffer_append(&set->texts, text, length);
    set->places[slot] = place;
    set->count++;
    return 0;
}

bool id_set_has(const struct id_set *set, const char *text, size_t length)
{
    return set->count > 0 && set->places[find_slot(set, text, length)] != 0;
}

static int add_line(struct id_set *set, struct id_file *file, const char *line, size_t length)
{
    OWNED(buffer_release) struct buffer id = BUFFER(CALL_ID_MAX);
    int r = result_line_read_id(line, length, &id);
    if (r > 0)
        r = id_set_add(set, id.data, id.length);
    else if (r < 0 && r != -ENOMEM)
        file->foreign++;
    return r == -ENOMEM || r == -ENOBUFS ? r : 0;
}

/* Takes all complete lines out of the buffer. */
static int add_lines(struct id_set *set, struct id_file *file, struct buffer *text, size_t scanned)
{
    int r = 0;
    size_t start = 0;
    while (r == 0) {
        const char *newline = memchr(text->data + scanned, '\n', text->length - scanned);
        if (newline == NULL)
            break;
        size_t end = (size_t)(newline - text->data);
        r = add_line(set, file, text->data + start, end - start);
        scanned = start = end + 1;
    }
    file->complete += start;
    buffer_consume(text, start);
    return r;
}

static int read_lines(struct id_set *set, int fd, struct id_file *file)
{
    OWNED(buffer_release) struct buffer text = BUFFER(RESULT_MAX);
    for (;;) {
        int r = buffer_reserve(&text, READ_SIZE);
        if (r < 0)
            return r;
        ssize_t count = read(fd, text.data + text.length, READ_SIZE);
        if (count < 0 && errno != EINTR)
            return -errno;
        if (count == 0)
            break;
        size_t scanned = text.length;
        text.length += count > 0 ? (size_t)count : 0;
        r = add_lines(set, file, &text, scanned);
        if (r < 0)
            return r;
    }
    file->torn = text.length;
    return 0;
}

int id_set_read(struct id_set *set, const char *path, struct id_file *ret_file, struct fault *fault)
{
    struct id_file file = {0};
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fault_set(fault, errno, "opening %s, the results of --resume: %m", path);
    int r = read_lines(set, fd, &file);
    if (r < 0)
        return fault_set(fault, -r, "reading the results in %s: %m", path);
    *ret_file = file;
    return 0;
}
