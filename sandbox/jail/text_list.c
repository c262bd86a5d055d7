#include "sandbox/jail/text_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct text_list_entry {
    struct text_list_entry *before;
    char bytes[];
};

char *text_list_add(struct text_list *list, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    struct text_list_entry *entry = length < 0 ? NULL : malloc(sizeof(*entry) + (size_t)length + 1);
    if (entry == NULL)
        return NULL;
    va_start(arguments, format);
    vsnprintf(entry->bytes, (size_t)length + 1, format, arguments);
    va_end(arguments);
    entry->before = list->last;
    list->last = entry;
    return entry->bytes;
}

void text_list_release(struct text_list *list)
{
    while (list->last != NULL) {
        struct text_list_entry *entry = list->last;
        list->last = entry->before;
        free(entry);
    }
}
