#include "cli/signal_relay.h"

#include "interpreter/base/log.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/signal_name.h"

#include <poll.h>
#include <stddef.h>

#define GRACE_NS (SIGNAL_GRACE_MS * NANOSECONDS_PER_MILLISECOND)

void signal_relay_give_up(struct signal_relay *relay, int signal_number)
{
    relay->fatal = signal_number;
    loop_stop(relay->loop);
}

static void on_signal(struct end_signals *end_signals, int signal_number)
{
    struct signal_relay *relay = container_of(end_signals, struct signal_relay, end_signals);
    if (relay->grace.armed || signal_number == SIGHUP ||
        launched_signal(relay->run, signal_number) < 0) {
        signal_relay_give_up(relay, signal_number);
        return;
    }
    if (signal_number == SIGTERM || relay->passed != 0)
        loop_arm(relay->loop, &relay->grace, clock_now() + GRACE_NS);
    relay->passed = signal_number;
}

static void on_grace(struct loop_timer *timer)
{
    struct signal_relay *relay = container_of(timer, struct signal_relay, grace);
    log_note("The program did not end within %d s after %s: it is stopped", SIGNAL_GRACE_MS / 1000,
             signal_name(relay->passed));
    launched_stop(relay->run);
}

int signal_relay_open(struct signal_relay *relay, struct loop *loop, const struct launched *run)
{
    *relay = (struct signal_relay){
        .loop = loop,
        .run = run,
        .end_signals = INTERRUPTS(on_signal),
        .grace = {.fire = on_grace},
    };
    return end_signals_open(&relay->end_signals, loop);
}

void signal_relay_end(struct signal_relay *relay)
{
    if (relay->grace.armed)
        loop_disarm(relay->loop, &relay->grace);
}

void signal_relay_close(struct signal_relay *relay)
{
    signal_relay_end(relay);
    end_signals_close(&relay->end_signals);
}

void signal_relay_check(struct signal_relay *relay, int64_t blocked_since)
{
    struct pollfd arrived = {.fd = relay->end_signals.watch.fd, .events = POLLIN};
    int64_t now = clock_now();
    if (poll(&arrived, 1, 0) > 0) {
        end_signals_take(&relay->end_signals);
        relay->passed_at = now;
    }
    bool has_waited = now - blocked_since > GRACE_NS && now - relay->passed_at > GRACE_NS;
    if (relay->passed != 0 && relay->fatal == 0 && has_waited)
        signal_relay_give_up(relay, relay->passed);
}

int signal_relay_cause(const struct signal_relay *relay, const struct run_result *result)
{
    const struct run_compile *compile = result->compile;
    bool is_cause = result->outcome == OUTCOME_CANCELLED ||
                    (result->outcome == OUTCOME_SIGNALED && result->signal == relay->passed) ||
                    (compile != NULL && compile->outcome == OUTCOME_SIGNALED &&
                     compile->signal == relay->passed);
    return is_cause ? relay->passed : 0;
}
