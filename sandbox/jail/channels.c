#include "sandbox/jail/channels.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void pair_close(int pair[2])
{
    fd_close(&pair[0]);
    fd_close(&pair[1]);
}

void channels_close(struct channels *channels)
{
    pair_close(channels->control);
    pair_close(channels->in);
    pair_close(channels->out);
    pair_close(channels->err);
    pair_close(channels->files);
    fd_close(&channels->code);
    pair_close(channels->requests);
    fd_close(&channels->template);
    fd_close(&channels->cgroup);
    session_channels_close(&channels->session);
    fd_close(&channels->root_tree);
    free(channels->keep);
}

/* A copy of the descriptor above those that the program gets, or a negative errno. */
static int copy_above_standard(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, PROGRAM_FD_MAX + 1);
    if (copy < 0)
        return errno == EINVAL ? -EMFILE : -errno; /* the limit is below that */
    return copy;
}

/* Moves the descriptor there. */
static int raise_above_standard(int *fd)
{
    if (*fd > PROGRAM_FD_MAX || *fd < 0)
        return 0;
    int raised = copy_above_standard(*fd);
    if (raised < 0)
        return raised;
    close(*fd);
    *fd = raised;
    return 0;
}

int channels_make_pipe(int pair[2], int own, const struct id_map *map)
{
    int *other = &pair[1 - own];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -errno;
    if (fcntl(pair[own], F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    /* The program may reopen /dev/stdout, so it must own the pipe. */
    if (map->outside_uid != geteuid() && fchown(*other, map->outside_uid, map->outside_gid) < 0)
        return -errno;
    return raise_above_standard(other);
}

/*
 * Makes the memory for the code. The child inherits it: a descriptor sent in a message would count
 * against the user's limit of descriptors in flight until received, together with those sent by
 * snippets, so one snippet could keep all others from getting their code (ETOOMANYREFS, unix(7)).
 */
static int make_code_memory(int *ret_fd)
{
    *ret_fd = memfd_create("code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return *ret_fd < 0 ? -errno : raise_above_standard(ret_fd);
}

/* How the server asks the init of a template, and that the interpreter. */
static int make_requests(struct channels *channels)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels->requests) < 0)
        return -errno;
    int copy = copy_above_standard(channels->session.channel[0]);
    if (copy < 0)
        return copy;
    channels->template = copy;
    return raise_above_standard(&channels->requests[1]);
}

int channels_open(struct channels *channels, const struct jail_plan *plan, const struct id_map *map,
                  struct fault *fault)
{
    bool takes_code = plan->code_name != NULL;
    bool is_session = plan->session != SESSION_NONE;
    /* The stdin of a fork takes the place of the template's, so both are pipes. */
    bool has_pipe = plan->has_stdin && (!is_session || plan->is_template);
    int r = has_pipe ? channels_make_pipe(channels->in, 1, map) : 0;
    if (r == 0)
        r = channels_make_pipe(channels->out, 0, map);
    if (r == 0 && !plan->joins_output)
        r = channels_make_pipe(channels->err, 0, map);
    if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels->control) < 0)
        r = -errno;
    if (r == 0 && takes_code &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels->files) < 0)
        r = -errno;
    if (r == 0)
        r = raise_above_standard(&channels->control[1]);
    if (r == 0 && takes_code)
        r = raise_above_standard(&channels->files[1]);
    if (r == 0 && takes_code)
        r = make_code_memory(&channels->code);
    if (r == 0 && is_session)
        r = session_channels_open(&channels->session, plan, map);
    if (r == 0 && plan->is_template)
        r = make_requests(channels);
    if (r == 0)
        r = raise_above_standard(&channels->session.channel[1]);
    if (r == 0)
        r = raise_above_standard(&channels->session.answers[1]);
    if (r == 0)
        r = raise_above_standard(&channels->session.cells[1]);
    if (r == 0)
        r = raise_above_standard(&channels->session.results[1]);
    if (r == 0)
        r = raise_above_standard(&channels->session.calls[1]);
    if (r == 0)
        r = raise_above_standard(&channels->session.input[1]);
    if (r == 0 && channels->root_tree >= 0)
        r = raise_above_standard(&channels->root_tree);
    if (r < 0)
        return fault_set(fault, -r, "cannot make the pipes of a sandbox: %m");
    return 0;
}

static int compare_descriptors(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

int channels_plan(struct channels *channels, struct jail_plan *plan)
{
    const struct session_channels *session = &channels->session;
    const int own[] = {
        plan->control_fd = channels->control[1],
        plan->stdin_fd = channels->in[0] >= 0 ? channels->in[0] : session->input[1],
        plan->channel_fd = session->channel[1],
        plan->answers_fd = session->answers[1],
        plan->cells_fd = session->cells[1],
        plan->results_fd = session->results[1],
        plan->calls_fd = session->calls[1],
        plan->stdout_fd = channels->out[1],
        channels->err[1],
        plan->files_fd = channels->files[1],
        plan->code_fd = channels->code,
        plan->network_fd,
        plan->requests_fd = channels->requests[1],
        plan->template_fd = channels->template,
        plan->cgroup_fd = channels->cgroup,
        plan->root_tree_fd = channels->root_tree,
    };
    plan->plan_fd = plan->store_fd = -1; /* of the init of a template */
    plan->stderr_fd = plan->joins_output ? channels->out[1] : channels->err[1];
    channels->keep = calloc(ARRAY_LENGTH(own) + plan->body_fd_count, sizeof(int));
    if (channels->keep == NULL)
        return -ENOMEM;
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++)
        if (own[i] >= 0)
            channels->keep[count++] = own[i];
    for (size_t i = 0; i < plan->body_fd_count; i++)
        channels->keep[count++] = plan->body_fds[i];
    qsort(channels->keep, count, sizeof(int), compare_descriptors);
    plan->keep = channels->keep;
    plan->keep_count = count;
    return 0;
}
