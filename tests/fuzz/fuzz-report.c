/*
 * What a child writes to the control socket, in records of any size; the first byte of each piece is
 * its length. Only whole records are taken, and one that tells of a failed step becomes a sentence,
 * whatever numbers are in it.
 */
#include "sandbox/base/owned.h"
#include "sandbox/jail/sandbox.h"
#include "sandbox/jail/setup_error.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/socket.h>

#define RECORDS_MAX 64

static const struct plan_device devices[] = {{"/dev/null", "null"}, {"/dev/zero", "zero"}};
static const struct plan_link links[] = {{"fd", "/proc/self/fd"}};
static const struct plan_scratch scratch[] = {{.name = "work", .target = "/work"}};
static const struct plan_rlimit rlimits[] = {{RLIMIT_CORE, 1, 1}, {RLIMIT_NICE, 0, 0}, {99, 0, 0}};
static const struct plan_user_limit user_limits[] = {{"sys/user/max_user_namespaces", "0"}};
static const char *const masks[] = {"keys", NULL};
static char *arguments[] = {(char *)"/usr/bin/python3", NULL};

static const struct jail_plan plan = {
    .subject = "the sandbox for image python",
    .root_path = "/image",
    .scratch = scratch,
    .scratch_count = ARRAY_LENGTH(scratch),
    .devices = devices,
    .device_count = ARRAY_LENGTH(devices),
    .dev_links = links,
    .dev_link_count = ARRAY_LENGTH(links),
    .user_limits = user_limits,
    .user_limit_count = ARRAY_LENGTH(user_limits),
    .masks = masks,
    .home = "/home",
    .home_links = links,
    .home_link_count = ARRAY_LENGTH(links),
    .rlimits = rlimits,
    .rlimit_count = ARRAY_LENGTH(rlimits),
    .work_directory = "/work",
    .code_name = "main.py",
    .argv = arguments,
};

/* The two ends; nothing lies in them between two calls. */
static const int *ends(void)
{
    static int pair[2] = {-1, -1};
    if (pair[0] < 0)
        FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    return pair;
}

static size_t send_pieces(int fd, struct fuzz_input *input)
{
    size_t sent = 0;
    while (input->size > 0 && sent < RECORDS_MAX) {
        size_t length = fuzz_byte(input);
        length = length < input->size ? length : input->size;
        if (length > 0 && send(fd, input->data, length, MSG_DONTWAIT) != (ssize_t)length)
            break;
        sent += length > 0 ? 1 : 0;
        input->data += length;
        input->size -= length;
    }
    return sent;
}

static void explain(const struct child_report *report)
{
    struct fault fault = {0};
    int r = setup_error_explain(&plan, report, &fault);
    fuzz_check_fault(r, &fault);
    FUZZ_CHECK(r < 0 && strstr(fault.text, "python") != NULL);
    struct fault clone = {0};
    r = setup_error_explain_clone(-r, &clone);
    fuzz_check_fault(r, &clone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct sandbox sandbox = SANDBOX_NONE;
    sandbox.control_fd = ends()[0];
    size_t sent = send_pieces(ends()[1], &input);
    for (size_t i = 0; i < sent; i++) {
        struct child_report report;
        memset(&report, 0x5a, sizeof(report));
        int r = sandbox_read_report(&sandbox, &report);
        FUZZ_CHECK(r == 0 || r == -EPIPE);
        if (r == 0)
            explain(&report);
        else
            FUZZ_CHECK(report.kind == 0x5a5a5a5a);
    }
    struct child_report none;
    FUZZ_CHECK(sandbox_read_report(&sandbox, &none) == -EAGAIN);
    return 0;
}
