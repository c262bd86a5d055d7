#include "interpreter/kept_snippet.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t text_size(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

static size_t stdin_length(const struct snippet *snippet)
{
    return snippet->stdin_source.kind == STDIN_BYTES ? snippet->stdin_source.length : 0;
}

static size_t argument_count(const struct snippet *snippet)
{
    size_t count = 0;
    while (snippet->arguments != NULL && snippet->arguments[count] != NULL)
        count++;
    return count;
}

static size_t all_size(const struct snippet *snippet)
{
    size_t size = snippet->length + stdin_length(snippet) + text_size(snippet->image) +
                  text_size(snippet->directory) + text_size(snippet->program) + 1;
    for (size_t i = 0; i < snippet->input_count; i++)
        size += text_size(snippet->inputs[i].name) + snippet->inputs[i].length;
    for (size_t i = 0; i < argument_count(snippet); i++)
        size += text_size(snippet->arguments[i]);
    return size;
}

static const char *put(char **at, const void *bytes, size_t length)
{
    char *begin = *at;
    if (bytes == NULL)
        return NULL;
    memcpy(begin, bytes, length);
    *at += length;
    return begin;
}

static const char *put_text(char **at, const char *text)
{
    return put(at, text, text_size(text));
}

int kept_snippet_make(const struct snippet *snippet, struct kept_snippet *ret_kept)
{
    size_t arguments = argument_count(snippet), size = all_size(snippet);
    *ret_kept = (struct kept_snippet){
        .snippet = *snippet,
        .texts = malloc(size),
        .size = size,
        .inputs = calloc(snippet->input_count + 1, sizeof(*ret_kept->inputs)),
        .arguments = calloc(arguments + 1, sizeof(*ret_kept->arguments)),
    };
    struct snippet *kept = &ret_kept->snippet;
    if (ret_kept->texts == NULL || ret_kept->inputs == NULL || ret_kept->arguments == NULL)
        return -ENOMEM;
    char *at = ret_kept->texts;
    kept->image = put_text(&at, snippet->image);
    kept->directory = put_text(&at, snippet->directory);
    kept->program = put_text(&at, snippet->program);
    kept->code = put(&at, snippet->code, snippet->length);
    kept->stdin_source.bytes = put(&at, snippet->stdin_source.bytes, stdin_length(snippet));
    for (size_t i = 0; i < snippet->input_count; i++) {
        ret_kept->inputs[i] = snippet->inputs[i];
        ret_kept->inputs[i].name = put_text(&at, snippet->inputs[i].name);
        ret_kept->inputs[i].bytes = put(&at, snippet->inputs[i].bytes, snippet->inputs[i].length);
    }
    kept->inputs = ret_kept->inputs;
    for (size_t i = 0; i < arguments; i++)
        ret_kept->arguments[i] = put_text(&at, snippet->arguments[i]);
    kept->arguments = snippet->arguments != NULL ? ret_kept->arguments : NULL;
    return 0;
}

void kept_snippet_release(struct kept_snippet *kept)
{
    memory_release(&kept->texts);
    free(kept->inputs);
    free(kept->arguments);
    *kept = (struct kept_snippet){0};
}
