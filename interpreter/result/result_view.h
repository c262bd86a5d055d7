/*
 * Everything that a result shows of a run: the input of the writers of its parts.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RESULT_RESULT_VIEW_H
#define INTERPRETER_RESULT_RESULT_VIEW_H

#include "interpreter/result/result_files.h"
#include "interpreter/settings/settings.h"
#include "sandbox/result.h"

#include <stdint.h>

struct shown_output;
struct session_view;
struct check;

struct result_view {
    const struct run_result *result; /* all borrowed */
    const struct shown_output *shown; /* for models */
    const struct shown_output
        *raw; /* the same for members of JSON, in the formats that have them */
    const struct result_files *files;
    const struct folder_patches *patches; /* or NULL */
    uint64_t output_number; /* as it was given to shown_output_make() */
    const char *image;
    int64_t wall_max_ms;     /* the most time that the model may ask for */
    const char *silent_hint; /* said when a program printed nothing: how to print in its language */
    const char *hint; /* lines of further advice on a failure, each with its newline; or NULL */
    const struct policy *network; /* borrowed; of the settings */
    enum result_format format;
    const struct session_view *session; /* NULL: it ran in none */
    const struct check *check; /* that came before it; NULL: none */
    const char *earlier; /* lines about runs before it that had no result; or NULL */
};

#endif
