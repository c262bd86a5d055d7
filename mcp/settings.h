/*
 * What the operator has set: by options of the command line and variables of the environment,
 * never by the model.
 *
 * Side: parent.
 */
#ifndef MCP_SETTINGS_H
#define MCP_SETTINGS_H

#include "images/catalog.h"
#include "sandbox/base/fault.h"

#include <stddef.h>
#include <stdint.h>

enum result_format {
    RESULT_TEXT,       /* plain lines */
    RESULT_JSON,       /* a failure is a JSON object in the text, as the server of old gave it */
    RESULT_STRUCTURED, /* plain lines, and structuredContent beside them */
};

struct settings {
    int64_t wall_ms;
    unsigned parallel; /* runs at once; 0: the number of processors */
    enum result_format result_format;
    char **environment; /* owned NAME=VALUE strings for snippets, environment_count of them */
    size_t environment_count;
    const struct language *bound_language; /* runs on bound_image instead of its own; or NULL */
    char *bound_image;                     /* owned */
};

struct settings settings_default(void);
void settings_release(struct settings *settings);

/* Each reads one option's value; `data` is the struct settings. As option.apply. */
int settings_apply_timeout(void *data, const char *value, struct fault *fault);
int settings_apply_parallel(void *data, const char *value, struct fault *fault);
int settings_apply_result_format(void *data, const char *value, struct fault *fault);
int settings_apply_pass_through(void *data, const char *value, struct fault *fault);

/*
 * Reads PASSTHROUGH_ENV, CONTAINER_IMAGE, CONTAINER_LANGUAGE and BACKEND. What cannot be heeded is
 * noted on stderr and is no error: these variables may be meant for another program.
 * 0, or -ENOMEM.
 */
int settings_read_environment(struct settings *settings, struct fault *fault);

/* The name of the image that the language runs on. Borrowed from settings or the catalog. */
const char *settings_image(const struct settings *settings, const struct language *language);

#endif
