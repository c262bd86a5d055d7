/*
 * The parameters of an extension method: found by rows of its table, and checked.
 *
 * A parameter that is null counts as left out. Every fault has the id "invalid_parameter" and names the parameter.
 *
 * Side: parent.
 */
#ifndef MCP_EXTENSION_PARAMETERS_H
#define MCP_EXTENSION_PARAMETERS_H

#include "sandbox/base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum parameter_kind {
    PARAMETER_TEXT,      /* a string without NUL bytes */
    PARAMETER_DATA,      /* a string */
    PARAMETER_BASE64,    /* a string; read by parameters_data() */
    PARAMETER_TEXTS,     /* an array of strings without NUL bytes, not empty */
    PARAMETER_VARIABLES, /* an object of strings: names and values of environment variables */
    PARAMETER_NUMBER,
    PARAMETER_WHOLE, /* a whole number, not negative */
    PARAMETER_SWITCH, /* true or false */
    PARAMETER_OBJECT,
    PARAMETER_ANY, /* somebody else reads it */
};

struct parameter {
    const char *name;
    enum parameter_kind kind;
    bool is_required;
    uint64_t low; /* of a PARAMETER_WHOLE */
};

/*
 * Finds the value of each of `count` rows: `values` has room for them, and gets NULL for what is left out. "_meta" is
 * everybody's. 0; -EINVAL with a fault: one is missing, is not known, or is of another kind. Borrowed from `params`.
 */
int parameters_read(const struct json_value *params, const struct parameter *rows, size_t count,
                    const struct json_value **values, struct fault *fault);

/* A PARAMETER_WHOLE from the row's `low` to `high`, or `otherwise` where it is left out. 0; -EINVAL with a fault. */
int parameters_whole(const struct parameter *row, const struct json_value *value, uint64_t high,
                     uint64_t otherwise, uint64_t *ret_number, struct fault *fault);

/* A PARAMETER_NUMBER of seconds, in milliseconds: more than 0, at most `high`. 0; -EINVAL with a fault. */
int parameters_time(const struct parameter *row, const struct json_value *value, int64_t high,
                    int64_t otherwise, int64_t *ret_milliseconds, struct fault *fault);

/* A PARAMETER_SWITCH; false where it is left out. */
bool parameters_switch(const struct json_value *value);

/* Bytes from the client. */
struct parameter_data {
    const char *bytes; /* with a NUL behind them, not counted; "" if there are none */
    size_t length;
    char *decoded; /* owned; or NULL */
    bool is_given;
};

/*
 * Reads the bytes of a pair of rows, a PARAMETER_DATA and the PARAMETER_BASE64 behind it, of which at most one may be given;
 * at most `high` bytes. 0; -EINVAL, -ENOMEM with a fault. To be released in either case.
 */
int parameters_data(const struct parameter *rows, const struct json_value *const *values,
                    size_t high, struct parameter_data *ret_data, struct fault *fault);
void parameter_data_release(struct parameter_data *data);

/*
 * The strings of a PARAMETER_TEXTS, or "NAME=VALUE" of PARAMETER_VARIABLES, NULL-terminated; none where it is left out. To be
 * freed with parameter_list_release(). 0; -EINVAL, -ENOMEM with a fault.
 */
int parameters_list(const struct parameter *row, const struct json_value *value, char ***ret_list,
                    struct fault *fault);
void parameter_list_release(char ***list);

#endif
