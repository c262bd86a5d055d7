#include "interpreter/compile_key.h"

#include <stdint.h>
#include <string.h>

/* Each part has its length before it, so that no two lists of parts are the same bytes. */
static int append(struct buffer *key, const void *bytes, size_t length)
{
    uint64_t size = length;
    int r = buffer_append(key, &size, sizeof(size));
    return r < 0 || length == 0 ? r : buffer_append(key, bytes, length);
}

static int append_text(struct buffer *key, const char *text)
{
    return append(key, text, strlen(text));
}

/* With their number before them, since a word may be empty. */
static int append_words(struct buffer *key, const char *const *words)
{
    uint64_t count = 0;
    while (words != NULL && words[count] != NULL)
        count++;
    int r = append(key, &count, sizeof(count));
    for (uint64_t i = 0; r == 0 && i < count; i++)
        r = append_text(key, words[i]);
    return r;
}

static int append_input(struct buffer *key, const struct run_input *input)
{
    int r = append_text(key, input->name);
    if (r == 0)
        r = append(key, input->is_executable ? "x" : "-", 1);
    return r < 0 ? r : append(key, input->bytes, input->length);
}

/* A replaced image has a new record. */
static int append_image(struct buffer *key, const char *name, const struct stat *record)
{
    const int64_t parts[] = {(int64_t)record->st_dev, (int64_t)record->st_ino,
                             (int64_t)record->st_size, (int64_t)record->st_mtim.tv_sec,
                             (int64_t)record->st_mtim.tv_nsec};
    int r = append_text(key, name);
    return r < 0 ? r : append(key, parts, sizeof(parts));
}

int compile_key_write(const struct run_spec *spec, const struct stat *image, struct buffer *key)
{
    int r = append_image(key, spec->image, image);
    if (r == 0)
        r = append_words(key, spec->argv);
    if (r == 0)
        r = append_words(key, spec->environment);
    if (r == 0)
        r = append_text(key, spec->code_name);
    if (r == 0)
        r = append(key, spec->code, spec->code_length);
    for (size_t i = 0; r == 0 && i < spec->input_count; i++)
        r = append_input(key, &spec->inputs[i]);
    return r;
}
