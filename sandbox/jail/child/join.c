#include "sandbox/jail/child/join.h"

#include "sandbox/jail/child/report.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct parcel_of_fds {
    struct join_request request;
    int fds[JOIN_FDS_MAX];
};

/* Its place, or -1 for none. */
static int32_t put(struct parcel_of_fds *parcel, int fd)
{
    if (fd < 0)
        return -1;
    parcel->fds[parcel->request.fd_count] = fd;
    return parcel->request.fd_count++;
}

static int open_namespaces(struct parcel_of_fds *parcel)
{
    /* With the first come the capabilities for the others. */
    static const char *const paths[JOIN_NAMESPACES_COUNT] = {
        "/proc/self/ns/user", "/proc/self/ns/mnt", "/proc/self/ns/pid",   "/proc/self/ns/net",
        "/proc/self/ns/ipc",  "/proc/self/ns/uts", "/proc/self/ns/cgroup"};
    for (size_t i = 0; i < JOIN_NAMESPACES_COUNT; i++) {
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return -errno;
        parcel->request.namespaces[i] = put(parcel, fd);
    }
    return 0;
}

static int send_parcel(int socket_fd, const struct parcel_of_fds *parcel)
{
    struct iovec bytes = {(void *)&parcel->request, sizeof(parcel->request)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(parcel->fds))] = {0};
    size_t size = (size_t)parcel->request.fd_count * sizeof(int);
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = CMSG_SPACE(size),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header == NULL)
        return -EINVAL;
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(header), parcel->fds, size);
    return sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int ask(struct jail *jail, int control_fd)
{
    const struct jail_plan *plan = jail->plan;
    struct parcel_of_fds parcel = {0};
    struct join_request *request = &parcel.request;
    struct stat memory;
    if (fstat(plan->plan_fd, &memory) < 0)
        return -errno;
    request->plan_size = (uint64_t)memory.st_size;
    request->plan = put(&parcel, plan->plan_fd);
    request->control = put(&parcel, control_fd);
    request->in = put(&parcel, plan->has_stdin ? plan->stdin_fd : -1);
    request->out = put(&parcel, plan->stdout_fd);
    request->err = plan->joins_output ? request->out : put(&parcel, plan->stderr_fd);
    request->last_pid = put(&parcel, jail->last_pid_fd);
    int r = open_namespaces(&parcel);
    if (r == 0)
        r = send_parcel(plan->template_fd, &parcel);
    for (size_t i = 0; i < JOIN_NAMESPACES_COUNT; i++)
        if (request->namespaces[i] > 0)
            close(parcel.fds[request->namespaces[i]]);
    return r;
}

/* A report of the program, and its pid in this namespace: the kernel adds it, unix(7) SCM_CREDENTIALS. */
static int read_report(int control_fd, struct child_report *ret_report, pid_t *ret_pid)
{
    struct iovec bytes = {ret_report, sizeof(*ret_report)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))] = {0};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(control_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return -errno;
    struct ucred credentials = {0};
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS)
        memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
    *ret_pid = credentials.pid;
    return length == (ssize_t)sizeof(*ret_report) ? 0 : -EPIPE;
}

static int await_report(int control_fd, struct child_report *ret_report, pid_t *ret_pid)
{
    struct pollfd event = {.fd = control_fd, .events = POLLIN};
    int r = poll(&event, 1, JOIN_MAX_MS); /* signals are blocked */
    if (r <= 0)
        return r < 0 ? -errno : -ETIMEDOUT;
    return read_report(control_fd, ret_report, ret_pid);
}

/* The template is in a cgroup of its own, and so are its forks, until they are moved: cgroups(7) */
static int enter_cgroup(const struct jail_plan *plan, pid_t pid)
{
    char digits[16];
    size_t begin = sizeof(digits);
    if (plan->cgroup_fd < 0)
        return 0;
    for (; pid > 0; pid /= 10)
        digits[--begin] = (char)('0' + pid % 10);
    return write(plan->cgroup_fd, digits + begin, sizeof(digits) - begin) < 0 ? -errno : 0;
}

/* The number of the program, as init signals and reaps it. */
static int take_program(struct jail *jail, int control_fd)
{
    struct child_report report = {0};
    pid_t pid = 0;
    int r = await_report(control_fd, &report, &pid);
    if (r < 0)
        return r;
    if (report.kind != REPORT_READY) {
        report.kind = REPORT_FAILED;
        report.step = report.step < STEP_COUNT ? report.step : STEP_JOIN;
        report_write(jail->plan, &report);
        _exit(EXIT_SETUP_FAILED);
    }
    /* The end of one that is no child, init would not hear of. */
    if (pid <= 1)
        return -ESRCH;
    if (syscall(SYS_waitid, P_PID, pid, NULL, WEXITED | WNOHANG | WNOWAIT, NULL) < 0)
        return -errno;
    jail->lanes[0].program = pid;
    return enter_cgroup(jail->plan, pid);
}

int step_join(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    const int on = 1;
    int pair[2];
    if (!plan->is_fork)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    int r = setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ? -errno : 0;
    if (r == 0)
        r = ask(jail, pair[1]);
    close(pair[1]); /* so that the end of the program's side shows */
    if (r == 0)
        r = take_program(jail, pair[0]);
    jail->joined_fd = pair[0];
    close(plan->template_fd);
    close(plan->plan_fd);
    if (jail->last_pid_fd >= 0)
        close(jail->last_pid_fd);
    if (plan->cgroup_fd >= 0)
        close(plan->cgroup_fd);
    return r;
}

int join_start_program(struct jail *jail)
{
    const struct parent_message begin = {.word = WORD_IDS_MAPPED};
    int r = jail->code == CODE_HANDED_OVER ? report_kind(jail->plan, REPORT_READY) : 0;
    /* write(2), as in report_write(): a signal for the end of the other side is none to init. */
    if (r == 0 && write(jail->joined_fd, &begin, sizeof(begin)) < 0)
        r = -errno;
    close(jail->joined_fd);
    return r;
}
