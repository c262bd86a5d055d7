#include "sandbox/base/open_resolved.h"

#include "sandbox/base/owned.h"
#include "skip.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#define PATH_THERE "one/../one/../one/../one"
#define PATH_OUT "../one"
#define REFUSALS_WANTED 20
#define PATIENCE_SECONDS 20

struct place {
    char path[32];
    int fd;
};

static int place_make(void **state)
{
    static struct place place = {.path = "/tmp/resolve-XXXXXX"};
    assert_non_null(mkdtemp(place.path));
    place.fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place.fd >= 0);
    assert_int_equal(mkdirat(place.fd, "one", 0700), 0);
    assert_int_equal(mkdirat(place.fd, "left", 0700), 0);
    *state = &place;
    return 0;
}

static int place_remove(void **state)
{
    struct place *place = *state;
    unlinkat(place->fd, "one", AT_REMOVEDIR);
    unlinkat(place->fd, "left", AT_REMOVEDIR);
    unlinkat(place->fd, "right", AT_REMOVEDIR);
    close(place->fd);
    return rmdir(place->path);
}

/* A process that gives another directory one name after the other, without an end. */
static pid_t start_renaming(const struct place *place)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    while (getppid() == parent) {
        renameat(place->fd, "left", place->fd, "right");
        renameat(place->fd, "right", place->fd, "left");
    }
    _exit(0);
}

static bool is_refused_once(const struct place *place)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    OWNED_FD int fd = (int)syscall(SYS_openat2, place->fd, PATH_THERE, &how, sizeof(how));
    assert_true(fd >= 0 || errno == EAGAIN);
    return fd < 0;
}

static void a_name_that_changes_elsewhere_is_no_error(void **state)
{
    const struct place *place = *state;
    pid_t renaming = start_renaming(place);
    time_t give_up_at = time(NULL) + PATIENCE_SECONDS;
    int refusals = 0;
    int r = 0;
    while (r == 0 && refusals < REFUSALS_WANTED && time(NULL) < give_up_at) {
        OWNED_FD int fd = open_resolved(place->fd, PATH_THERE, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
        r = fd < 0 ? fd : 0;
        refusals += is_refused_once(place);
    }
    kill(renaming, SIGKILL);
    assert_int_equal(waitpid(renaming, NULL, 0), renaming);
    assert_int_equal(r, 0);
    if (refusals == 0)
        skip_because("the kernel never refused a lookup, as on one processor");
}

static void errors_are_told(void **state)
{
    const struct place *place = *state;
    assert_int_equal(open_resolved(place->fd, "two", O_PATH | O_CLOEXEC, 0), -ENOENT);
    assert_int_equal(open_resolved(place->fd, PATH_OUT, O_PATH | O_CLOEXEC, RESOLVE_BENEATH),
                     -EXDEV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_changes_elsewhere_is_no_error),
        cmocka_unit_test(errors_are_told),
    };
    return cmocka_run_group_tests(tests, place_make, place_remove);
}
