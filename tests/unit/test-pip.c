#include "images/base/file.h"
#include "images/build/pip.h"
#include "images/unpack/jailed.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "skip.h"

static const char *const wanted[] = {"google-genai", "plotly", NULL};
static const char *const pruned[] = {"opt/v*/tests", "opt/absent", "srv", NULL};

/* Runs it on a tree without pip, with stderr in a file; the text goes to `said`. */
static void add_to(const char *root, struct buffer *said)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s.said", root);
    OWNED_FD int former = dup(STDERR_FILENO);
    OWNED_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (former < 0 || fd < 0 || dup2(fd, STDERR_FILENO) < 0) {
        fail_msg("cannot read what is written to stderr");
        return;
    }
    struct progress progress;
    progress_open(&progress, "mine", false);
    struct fault fault = {0};
    const struct pip_request request = {
        .requirements = wanted, .pruned = pruned, .scratch = "/tmp"};
    int r = pip_add(root, &request, &progress, &fault);
    dup2(former, STDERR_FILENO);
    if (r < 0)
        fail_msg("%s", fault.text);
    assert_int_equal(file_read(path, said, NULL), 0);
    unlink(path);
}

/* Its last step is made in a jail. */
static void need_jails(void)
{
    char root[] = "/tmp/test-pip-XXXXXX";
    struct fault fault = {0};
    assert_non_null(mkdtemp(root));
    int r = jailed_probe(root, &fault);
    assert_int_equal(tree_remove(AT_FDCWD, root), 0);
    if (r == -EPERM || r == -ENOSYS)
        skip_because("this host refuses sandboxes");
}

/* What pip's settings name is shown in the image, and was not there before. */
static void without_pip_the_image_stays_as_it_was(void **state)
{
    (void)state;
    need_jails();
    char root[] = "/tmp/test-pip-XXXXXX";
    char settings[PATH_MAX], path[PATH_MAX];
    assert_non_null(mkdtemp(root));
    snprintf(settings, sizeof(settings), "%s.conf", root);
    assert_int_equal(file_write(settings, "[global]\n", 9, NULL), 0);
    setenv("PIP_CONFIG_FILE", settings, 1);
    snprintf(path, sizeof(path), "%s/etc", root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/tmp", root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/dev", root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/proc", root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/etc/resolv.conf", root);
    assert_int_equal(file_write(path, "", 0, NULL), 0);
    OWNED(buffer_release) struct buffer said = BUFFER(FILE_TEXT_MAX);
    add_to(root, &said);
    assert_string_equal(buffer_string(&said),
                        "mine: pip install\n"
                        "mine: note: the image lacks google-genai, plotly, which pip could not "
                        "install: the image has no python3, so pip cannot install anything\n");
    assert_true(file_exists(path));
    snprintf(path, sizeof(path), "%s%s", root, settings);
    assert_false(file_exists(path));
    snprintf(path, sizeof(path), "%s/etc/ssl", root);
    assert_false(file_exists(path));
    unlink(settings);
    assert_int_equal(tree_remove(AT_FDCWD, root), 0);
}

/* In a tree where `outside` would be reached by following a link. */
static void what_nobody_needs_is_removed_from_the_image(void **state)
{
    (void)state;
    need_jails();
    char root[] = "/tmp/test-pip-XXXXXX";
    char path[PATH_MAX], outside[PATH_MAX];
    assert_non_null(mkdtemp(root));
    snprintf(outside, sizeof(outside), "%s.outside", root);
    assert_int_equal(file_make_directory(outside, 0755, NULL), 0);
    static const char *const directories[] = {
        "etc", "dev", "proc", "tmp", "opt/v1/tests/deep", "opt/v1/testing", "opt/v2/tests"};
    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, directories[i]);
        assert_int_equal(file_make_directory(path, 0755, NULL), 0);
    }
    snprintf(path, sizeof(path), "%s/srv", root);
    assert_int_equal(symlink(outside, path), 0);
    OWNED(buffer_release) struct buffer said = BUFFER(FILE_TEXT_MAX);
    add_to(root, &said);
    static const char *const gone[] = {"opt/v1/tests", "opt/v2/tests"};
    for (size_t i = 0; i < ARRAY_LENGTH(gone); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, gone[i]);
        assert_false(file_exists(path));
    }
    snprintf(path, sizeof(path), "%s/opt/v1/testing", root);
    assert_true(file_exists(path));
    assert_true(file_exists(outside));
    assert_int_equal(tree_remove(AT_FDCWD, outside), 0);
    assert_int_equal(tree_remove(AT_FDCWD, root), 0);
}

/* As under nice(1); which nobody but root can take back, so this is the last of the tests. */
static void so_it_does_at_the_lowest_priority(void **state)
{
    assert_int_equal(setpriority(PRIO_PROCESS, 0, 19), 0);
    without_pip_the_image_stays_as_it_was(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_pip_the_image_stays_as_it_was),
        cmocka_unit_test(what_nobody_needs_is_removed_from_the_image),
        cmocka_unit_test(so_it_does_at_the_lowest_priority),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
