#include "images/base/file_digest.h"
#include "sandbox/base/owned.h"

#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define SIZE (3 * (256 << 10) + 17)

static const struct digest sha256 = {"sha256:"};

static void end(void *data)
{
    sem_post(data);
}

/* A file of SIZE bytes, and the digest that they have. The descriptor is the caller's. */
static int file_make(struct digest *ret_digest)
{
    OWNED_MEMORY unsigned char *bytes = malloc(SIZE);
    OWNED(digest_release) struct digest_stream *stream = NULL;
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_true(bytes != NULL && fd >= 0);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    assert_int_equal(write(fd, bytes, SIZE), SIZE);
    assert_int_equal(digest_open(&sha256, &stream), 0);
    assert_int_equal(digest_update(stream, bytes, SIZE), 0);
    assert_int_equal(digest_finish(stream, ret_digest), 0);
    return fd;
}

/* Starts one on the file, tells it of sizes, waits for its end. */
static int result_of(int fd, const uint64_t *sizes, size_t count, struct digest *ret_digest)
{
    sem_t ended;
    assert_int_equal(sem_init(&ended, 0, 0), 0);
    const struct file_digest_request request = {fd, &sha256, end, &ended};
    OWNED(file_digest_release) struct file_digest *digest = NULL;
    assert_int_equal(file_digest_start(&request, &digest), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(file_digest_result(digest, ret_digest), -EAGAIN);
        file_digest_extend(digest, sizes[i], i + 1 == count);
        poll(NULL, 0, 1);
    }
    assert_int_equal(sem_wait(&ended), 0);
    return file_digest_result(digest, ret_digest);
}

static void what_comes_in_pieces_has_the_digest_of_all(void **state)
{
    (void)state;
    static const uint64_t piecewise[] = {0, 1, 1000, (256 << 10) - 1, 256 << 10, 600000, SIZE};
    static const uint64_t at_once[] = {SIZE};
    static const uint64_t said_twice[] = {SIZE, SIZE};
    struct digest wanted, found;
    OWNED_FD int fd = file_make(&wanted);
    assert_int_equal(result_of(fd, piecewise, ARRAY_LENGTH(piecewise), &found), 0);
    assert_string_equal(found.text, wanted.text);
    assert_int_equal(result_of(fd, at_once, ARRAY_LENGTH(at_once), &found), 0);
    assert_string_equal(found.text, wanted.text);
    assert_int_equal(result_of(fd, said_twice, ARRAY_LENGTH(said_twice), &found), 0);
    assert_string_equal(found.text, wanted.text);
}

static void an_empty_file_has_the_digest_of_nothing(void **state)
{
    (void)state;
    static const uint64_t nothing[] = {0};
    struct digest wanted, found;
    OWNED_FD int fd = file_make(&wanted);
    assert_int_equal(result_of(fd, nothing, 1, &found), 0);
    assert_string_equal(found.text,
                        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void a_file_that_is_shorter_than_said_is_a_fault(void **state)
{
    (void)state;
    static const uint64_t longer[] = {SIZE + 1};
    struct digest wanted, found;
    OWNED_FD int fd = file_make(&wanted);
    assert_int_equal(result_of(fd, longer, 1, &found), -EIO);
}

static void nobody_has_to_wait_for_the_end(void **state)
{
    (void)state;
    struct digest wanted, found;
    OWNED_FD int fd = file_make(&wanted);
    for (int i = 0; i < 100; i++) {
        const struct file_digest_request request = {fd, &sha256, NULL, NULL};
        OWNED(file_digest_release) struct file_digest *digest = NULL;
        assert_int_equal(file_digest_start(&request, &digest), 0);
        file_digest_extend(digest, SIZE - 1, false);
        assert_int_equal(file_digest_result(digest, &found), -EAGAIN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_in_pieces_has_the_digest_of_all),
        cmocka_unit_test(an_empty_file_has_the_digest_of_nothing),
        cmocka_unit_test(a_file_that_is_shorter_than_said_is_a_fault),
        cmocka_unit_test(nobody_has_to_wait_for_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
