#include "interpreter/languages/placeholders.h"

#include "sandbox/base/buffer.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 65536
#define RUNTIME_MIB 40 /* of a JVM beside its heap, measured */
#define HEAP_MIN_MIB 8

uint64_t placeholder_heap_mib(uint64_t memory_bytes)
{
    uint64_t all = memory_bytes / MEBIBYTE;
    uint64_t heap = all > RUNTIME_MIB ? (all - RUNTIME_MIB) * 7 / 10 : 0;
    return heap > HEAP_MIN_MIB ? heap : HEAP_MIN_MIB;
}

/* Appends the value of the placeholder that the text begins with, and returns its length; 0: it begins with none. */
static size_t fill_one(const char *text, const struct placeholder_values *values,
                       struct buffer *filled, int *ret_status)
{
    char heap[24];
    snprintf(heap, sizeof(heap), "%" PRIu64, values->heap_mib);
    const struct {
        const char *name, *value;
    } all[] = {{"{class}", values->of.file},
               {"{main}", values->of.main},
               {"{heap_mb}", heap},
               {"{work}", values->work}};
    for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
        if (strncmp(text, all[i].name, strlen(all[i].name)) != 0)
            continue;
        *ret_status = buffer_append_text(filled, all[i].value);
        return strlen(all[i].name);
    }
    return 0;
}

char *placeholders_fill(const char *word, const struct placeholder_values *values)
{
    OWNED(buffer_release) struct buffer filled = BUFFER(WORD_MAX);
    int r = 0;
    while (r == 0 && *word != '\0') {
        size_t length = *word == '{' ? fill_one(word, values, &filled, &r) : 0;
        if (length == 0)
            r = buffer_append(&filled, word, 1);
        word += length > 0 ? length : 1;
    }
    const char *text = r == 0 ? buffer_string(&filled) : NULL;
    return text != NULL ? strdup(text) : NULL;
}
