#include "sandbox/call_functions.h"

#include <stdlib.h>
#include <string.h>

struct call_functions *call_functions_new(size_t room)
{
    struct call_functions *functions = calloc(1, sizeof(*functions));
    if (functions == NULL)
        return NULL;
    functions->json = BUFFER(CALL_FUNCTIONS_BYTES_MAX);
    functions->names = calloc(room + 1, sizeof(*functions->names));
    if (functions->names != NULL)
        return functions;
    free(functions);
    return NULL;
}

struct call_functions *call_functions_copy(const struct call_functions *functions)
{
    struct call_functions *copy = call_functions_new(functions->count);
    if (copy == NULL)
        return NULL;
    copy->count = functions->count;
    memcpy(copy->names, functions->names, functions->count * sizeof(*functions->names));
    if (buffer_append(&copy->json, functions->json.data, functions->json.length) == 0)
        return copy;
    call_functions_free(copy);
    return NULL;
}

void call_functions_free(struct call_functions *functions)
{
    if (functions == NULL)
        return;
    free(functions->names);
    buffer_release(&functions->json);
    free(functions);
}

bool call_functions_have(const struct call_functions *functions, const char *name)
{
    for (size_t i = 0; i < functions->count; i++)
        if (strcmp(functions->names[i], name) == 0)
            return true;
    return false;
}
