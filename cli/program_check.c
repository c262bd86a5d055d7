#include "cli/program_check.h"

#include "sandbox/base/owned.h"

#include <errno.h>

static void interrupt(struct end_signals *end_signals, int signal_number)
{
    struct program_check *program = container_of(end_signals, struct program_check, end_signals);
    program->signal = signal_number;
    loop_stop(&program->loop);
}

static void check_done(struct check *check)
{
    struct program_check *program = container_of(check, struct program_check, check);
    loop_stop(&program->loop);
}

int program_check_open(struct program_check *program, const struct settings *settings,
                       struct fault *fault)
{
    *program = (struct program_check){
        .loop = {.epoll_fd = -1},
        .end_signals = INTERRUPTS(interrupt),
    };
    int r = loop_open(&program->loop);
    if (r == 0)
        r = end_signals_open(&program->end_signals, &program->loop);
    if (r < 0)
        return fault_set(fault, -r, "waiting for signals: %m");
    return checker_open(&program->checker, &program->loop, settings, fault);
}

void program_check_close(struct program_check *program)
{
    checker_stop(&program->checker);
    findings_release(&program->check.findings);
    checker_release(&program->checker);
    end_signals_close(&program->end_signals);
    loop_close(&program->loop);
}

int program_check_run(struct program_check *program, const struct language *language,
                      const struct buffer *code, struct fault *fault)
{
    const struct snippet snippet = {
        .language = language, .code = code->data, .length = code->length};
    findings_release(&program->check.findings);
    program->check.has_failed = false;
    program->check.done = check_done;
    if (!checker_is_for(&program->checker, language))
        return 0;
    int r = check_begin(&program->check, &program->checker, &snippet, fault);
    if (r < 0)
        return r;
    r = loop_run(&program->loop);
    if (r < 0)
        return fault_set(fault, -r, "waiting for a check: %m");
    return program->signal != 0 ? fault_set(fault, EINTR, "interrupted") : 0;
}
