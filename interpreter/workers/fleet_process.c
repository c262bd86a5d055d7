#include "interpreter/workers/fleet_process.h"

#include "interpreter/base/helpers.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ARGUMENTS_SIZE (16 + LANGUAGES_MAX)
#define END_NS (15 * NANOSECONDS_PER_SECOND) /* more than it takes calls back for */
#define ADDRESS_VARIABLE "CODE_SANDBOX_BROKER"

struct fleet_arguments {
    char *list[ARGUMENTS_SIZE];
    size_t count;
    char *owned[LANGUAGES_MAX + 1];
    size_t owned_count;
    char *address; /* "NAME=VALUE" of the environment */
};

static void arguments_release(struct fleet_arguments *arguments)
{
    for (size_t i = 0; i < arguments->owned_count; i++)
        free(arguments->owned[i]);
    free(arguments->address);
}

static void add(struct fleet_arguments *arguments, const char *text)
{
    arguments->list[arguments->count++] = (char *)text;
}

static void add_option(struct fleet_arguments *arguments, const char *name, const char *value)
{
    if (value == NULL)
        return;
    add(arguments, name);
    add(arguments, value);
}

/* "python=python-slim". */
static int add_images(struct fleet_arguments *arguments, const struct settings *settings)
{
    for (size_t i = 0; i < language_count; i++) {
        char **owned = &arguments->owned[arguments->owned_count];
        if (asprintf(owned, "%s=%s", languages[i]->name, settings_image(settings, languages[i])) <
            0)
            return -ENOMEM;
        add(arguments, *owned);
        arguments->owned_count++;
    }
    return 0;
}

static int make_arguments(struct fleet_arguments *arguments, enum fleet_mode mode,
                          const struct fleet_settings *fleet, const struct settings *settings,
                          unsigned places)
{
    char **number = &arguments->owned[arguments->owned_count];
    add(arguments, FLEET_PROGRAM);
    add(arguments, mode == FLEET_TAKE ? "take" : mode == FLEET_SEND ? "send" : "list");
    add_option(arguments, "--pool", fleet->pool);
    add_option(arguments, "--name", fleet->name);
    add_option(arguments, "--nats-creds", fleet->credentials);
    add_option(arguments, "--nats-ca", fleet->authority);
    if (fleet->may_be_insecure)
        add(arguments, "--insecure");
    if (asprintf(number, "%u", places) < 0)
        return -ENOMEM;
    arguments->owned_count++;
    add_option(arguments, "--places", *number);
    if (asprintf(&arguments->address, ADDRESS_VARIABLE "=%s", fleet->url) < 0) {
        arguments->address = NULL;
        return -ENOMEM;
    }
    return add_images(arguments, settings);
}

/* Our environment, and the address of the broker: others can see arguments. */
static int spawn_with_address(const char *program, const struct fleet_arguments *arguments, int fd,
                              pid_t *ret_pid)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    OWNED_MEMORY char **environment = calloc(count + 2, sizeof(*environment));
    if (environment == NULL)
        return -ENOMEM;
    environment[0] = arguments->address;
    memcpy(environment + 1, environ, count * sizeof(*environment));
    const int fds[] = {fd, fd};
    /* An interrupt from the terminal is for us to pass on. */
    return spawn_start(&(struct spawn){.program = program,
                                       .arguments = arguments->list,
                                       .environment = environment,
                                       .fds = fds,
                                       .fd_count = ARRAY_LENGTH(fds),
                                       .has_own_group = true},
                       ret_pid);
}

int fleet_process_start(struct fleet_process *process, enum fleet_mode mode,
                        const struct fleet_settings *fleet, const struct settings *settings,
                        unsigned places, struct fault *fault)
{
    OWNED_MEMORY char *program = NULL;
    OWNED(arguments_release) struct fleet_arguments arguments = {0};
    int ends[2] = {-1, -1};
    if (helpers_find(FLEET_PROGRAM, FLEET_FOLDER, &program) < 0)
        return fault_set(fault, ENOENT,
                         FLEET_PROGRAM
                         " is not installed: install the Debian package " FLEET_PROGRAM
                         ", or build from source with libnats");
    int r = make_arguments(&arguments, mode, fleet, settings, places);
    if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        r = -errno;
    if (r < 0)
        return fault_set(fault, -r, "starting " FLEET_PROGRAM ": %m");
    OWNED_FD int ours = ends[0];
    OWNED_FD int theirs = ends[1];
    /* epoll(7) takes each descriptor once. */
    OWNED_FD int again = fcntl(ours, F_DUPFD_CLOEXEC, 0);
    r = again < 0 ? -errno : spawn_with_address(program, &arguments, theirs, &process->pid);
    if (r < 0)
        return fault_set(fault, -r, "starting %s: %m", program);
    process->input_fd = fd_take(&ours);
    process->output_fd = fd_take(&again);
    return 0;
}

void fleet_process_kill(const struct fleet_process *process)
{
    if (process->pid > 0)
        kill(process->pid, SIGKILL);
}

/* A program that somebody has stopped does not see the end of its input. */
static void wait_or_kill(const struct fleet_process *process)
{
    OWNED_FD int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int64_t deadline = clock_now() + END_NS;
    int64_t left = END_NS;
    int r = -1;
    while (fd >= 0 && (left = deadline - clock_now()) > 0 &&
           (r = poll(&end, 1, (int)(left / NANOSECONDS_PER_MILLISECOND) + 1)) < 0 && errno == EINTR)
        ;
    if (r <= 0)
        fleet_process_kill(process);
}

int fleet_process_end(struct fleet_process *process)
{
    int status = -1;
    fd_close(&process->input_fd);
    fd_close(&process->output_fd);
    if (process->pid == 0)
        return -1;
    wait_or_kill(process);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
        ;
    process->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
