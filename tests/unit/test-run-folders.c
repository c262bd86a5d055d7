#include "sandbox/run_files.h"

#include "sandbox/base/fd_message.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A directory of its own without a name. */
static int open_empty(void)
{
    char path[] = "/tmp/test-run-folders-XXXXXX";
    assert_non_null(mkdtemp(path));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(rmdir(path), 0);
    return fd;
}

static void upper_layers_come_with_their_folders_in_order(void **state)
{
    (void)state;
    OWNED_FD int work_fd = open_empty();
    OWNED_FD int home_fd = open_empty();
    int ends[2] = {-1, -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    OWNED_FD int own = ends[0];
    OWNED_FD int other = ends[1];
    char byte = 0;
    int fds[] = {work_fd, home_fd, home_fd, home_fd, work_fd};
    assert_int_equal(fd_message_send(other, &(struct fd_message){&byte, 1, fds, 5}), 0);
    struct folder list[] = {
        {.mode = FOLDER_OVERLAY}, {.mode = FOLDER_READ_ONLY}, {.mode = FOLDER_OVERLAY}};
    const struct folders folders = {list, ARRAY_LENGTH(list)};
    struct run_result result = {0};
    OWNED(run_directories_close) struct run_directories directories;
    run_directories_receive(own, &folders, &directories);
    run_files_collect(
        &(struct run_files_source){.directories = &directories,
                                   .code_name = "x",
                                   .inputs = {.fd = -1},
                                   .guard = &(struct folder_guard){.folders = &folders},
                                   .folders_since = {5, 6}},
        &result);
    assert_int_equal(result.folders.count, 2);
    assert_int_equal(result.folders.lost, 0);
    assert_ptr_equal(result.folders.list[0].folder, &list[0]);
    assert_ptr_equal(result.folders.list[1].folder, &list[2]);
    assert_int_equal(result.folders.list[1].since.tv_sec, 5);
    const int expected[] = {home_fd, work_fd};
    for (size_t i = 0; i < 2; i++) {
        struct stat sent;
        struct stat came;
        assert_int_equal(fstat(expected[i], &sent), 0);
        assert_int_equal(fstat(result.folders.list[i].upper_fd, &came), 0);
        assert_int_equal(sent.st_ino, came.st_ino);
    }
    run_result_release(&result);
    assert_int_equal(result.folders.count, 0);
}

static void files_and_folders_without_descriptors_are_lost(void **state)
{
    (void)state;
    int ends[2] = {-1, -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    OWNED_FD int own = ends[0];
    OWNED_FD int other = ends[1];
    assert_true(other >= 0);
    struct folder list[] = {{.mode = FOLDER_OVERLAY}, {.mode = FOLDER_READ_ONLY}};
    const struct folders folders = {list, ARRAY_LENGTH(list)};
    struct folder_guard guard = {.folders = &folders};
    for (int i = 0; i < 2; i++) {
        struct run_directories directories;
        run_directories_receive(own, &folders, &directories);
        const struct run_files_source source = {
            .directories = &directories, .code_name = "x", .guard = &guard};
        struct run_result result = {0};
        run_files_collect(&source, &result);
        assert_int_equal(result.files.count + result.figures.count + result.folders.count, 0);
        assert_true(result.files_lost);
        assert_int_equal(result.folders.lost, 1);
        fd_close(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upper_layers_come_with_their_folders_in_order),
        cmocka_unit_test(files_and_folders_without_descriptors_are_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
