#include "interpreter/result/outputs.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct output {
    struct output *older;
    unsigned owner;
    uint64_t number;
    struct capture out, err;
};

static uint64_t size_of(const struct capture *capture)
{
    return capture->head.length + capture->tail.length;
}

static void free_output(struct output *output)
{
    capture_release(&output->out);
    capture_release(&output->err);
    free(output);
}

bool outputs_may_keep(const struct run_result *result)
{
    return size_of(&result->out) <= OUTPUT_STREAM_MAX && size_of(&result->err) <= OUTPUT_STREAM_MAX;
}

static void drop_oldest(struct outputs *outputs)
{
    struct output **at = &outputs->newest;
    while ((*at)->older != NULL)
        at = &(*at)->older;
    outputs->count--;
    outputs->bytes -= size_of(&(*at)->out) + size_of(&(*at)->err);
    free_output(*at);
    *at = NULL;
}

void outputs_keep(struct outputs *outputs, unsigned owner, uint64_t number,
                  struct run_result *result)
{
    struct output *output = malloc(sizeof(*output));
    if (output == NULL)
        return; /* it is not there any more when somebody asks */
    *output = (struct output){
        .older = outputs->newest,
        .owner = owner,
        .number = number,
        .out = result->out,
        .err = result->err,
    };
    result->out = (struct capture){0};
    result->err = (struct capture){0};
    outputs->newest = output;
    outputs->count++;
    outputs->bytes += size_of(&output->out) + size_of(&output->err);
    while (outputs->count > OUTPUTS_MAX || outputs->bytes > OUTPUTS_BYTES_MAX)
        drop_oldest(outputs);
}

const struct capture *outputs_find(const struct outputs *outputs, unsigned owner,
                                   const struct json_value *uri)
{
    for (const struct output *output = outputs->newest; output != NULL; output = output->older) {
        char known[OUTPUT_URI_SIZE];
        if (output->owner != owner)
            continue;
        snprintf(known, sizeof(known), OUTPUT_URI_FORMAT, output->number, "stdout");
        if (json_is(uri, known))
            return &output->out;
        snprintf(known, sizeof(known), OUTPUT_URI_FORMAT, output->number, "stderr");
        if (json_is(uri, known))
            return &output->err;
    }
    return NULL;
}

void outputs_release(struct outputs *outputs)
{
    while (outputs->newest != NULL)
        drop_oldest(outputs);
}
