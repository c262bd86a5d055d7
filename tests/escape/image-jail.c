/*
 * The jails in which images are made, for the attempts to get out of them: a library that
 * image_jail.py loads.
 */
#include "images/unpack/jailed.h"
#include "sandbox/base/owned.h"

#include <stdio.h>
#include <unistd.h>

int attempt_unpack(const char *root, int (*body)(void), int answer_fd);
int attempt_install(const char *root, const char *const *argv, int answer_fd);

static int told(int r, const struct fault *fault)
{
    if (r != 0)
        dprintf(STDERR_FILENO, "%s\n", r < 0 ? fault->text : "there is no such program");
    return r;
}

static int call_body(void *data, struct fault *fault)
{
    int (**body)(void) = data;
    return (*body)() == 0 ? 0 : fault_set(fault, EPROTO, "the attempt raised an exception");
}

/* The body runs in the unpacker's jail, and has the descriptor too. 0, or a negative errno. */
int attempt_unpack(const char *root, int (*body)(void), int answer_fd)
{
    const struct image_jail jail = {
        .root = root, .body = call_body, .data = &body, .fds = &answer_fd, .fd_count = 1};
    struct fault fault = {0};
    return told(jailed_run(&jail, NULL, &fault), &fault);
}

/* The program runs in the installers' jail; what it prints goes to the descriptor. 0, or not. */
int attempt_install(const char *root, const char *const *argv, int answer_fd)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    OWNED(buffer_release) struct buffer output = BUFFER(SUBPROCESS_OUTPUT_MAX);
    const struct image_jail jail = {.root = root, .output = &output};
    const struct image_program program = {argv, environment};
    struct fault fault = {0};
    int r = told(jailed_program(&jail, &program, &fault), &fault);
    if (r == 0 && write(answer_fd, output.data, output.length) < 0)
        return -errno;
    return r;
}
