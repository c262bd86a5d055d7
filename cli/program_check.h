/*
 * Checks programs one after another against the rules of --policy, for `run` and `check`.
 *
 * Side: parent.
 */
#ifndef CLI_PROGRAM_CHECK_H
#define CLI_PROGRAM_CHECK_H

#include "interpreter/base/end_signals.h"
#include "interpreter/checker.h"

struct program_check {
    struct loop loop;
    struct end_signals end_signals;
    struct checker checker;
    struct check check; /* of the last program */
    int signal;         /* that ended the check, or 0 */
};

/* To be closed in any case, and to stay where it is. As checker_open(). */
int program_check_open(struct program_check *program, const struct settings *settings,
                       struct fault *fault);
void program_check_close(struct program_check *program);

/*
 * Checks one program; program->check has its findings then. A language without a checker has none. 0, or a negative
 * errno with its fault; -EINTR: a signal came.
 */
int program_check_run(struct program_check *program, const struct language *language,
                      const struct buffer *code, struct fault *fault);

#endif
