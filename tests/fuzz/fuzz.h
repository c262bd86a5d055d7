/*
 * What fuzz harnesses are made of. Each harness is one function over any bytes, which aborts when a
 * promise of the code under test does not hold. libFuzzer calls it with bytes of its own making
 * (`make fuzz`); replay.c calls it with the files of corpus/NAME, in every test run.
 *
 * A harness keeps nothing from one call to the next but scratch descriptors, so that a find can be
 * repeated from its bytes alone. Source: https://llvm.org/docs/LibFuzzer.html
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The harness. Always 0; -1 tells libFuzzer that the bytes are not worth keeping. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts unless the promise holds. */
#define FUZZ_CHECK(promise)                                                                        \
    do {                                                                                           \
        if (!(promise))                                                                            \
            fuzz_fail(#promise, __FILE__, __LINE__);                                               \
    } while (0)
void fuzz_fail(const char *promise, const char *file, int line) __attribute__((noreturn));

/* The rule of the house: 0 and no fault, or a negative errno with one; never a positive number. */
void fuzz_check_fault(int r, const struct fault *fault);

/* The bytes that are left; each of the calls below takes some. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};

/* 0 when there are none left. */
uint8_t fuzz_byte(struct fuzz_input *input);
uint64_t fuzz_number(struct fuzz_input *input); /* 8 bytes, little end first */

/*
 * A line, or what is left: NUL-terminated, without NUL before, owned by the caller; in a block of
 * its own size, so that AddressSanitizer sees who reads on. NULL: nothing is left.
 */
char *fuzz_line(struct fuzz_input *input);
/* The same up to a NUL, whatever lines there are; never NULL. */
char *fuzz_rest(struct fuzz_input *input);

/* Parses one JSON text that our own code wrote, which must succeed. Owned by the caller. */
struct json *fuzz_parse(const struct buffer *text);

/*
 * Nothing in it speaks to a terminal: there are no control characters, but '\n' and '\t' where there
 * may be `lines`, and nothing that is not UTF-8, but at an end that was cut. NULL is fine.
 */
void fuzz_check_plain(const char *text, bool lines);

/* Whether two trees say the same: types, texts, order and names of members. */
bool fuzz_json_same(const struct json_value *one, const struct json_value *other);

/* The one file of memory that holds these bytes, read from its start; borrowed, as is its path. */
int fuzz_file(const void *data, size_t size);
const char *fuzz_file_path(void);

/*
 * A directory of the harness's own, on a file system in memory where there is one; removed at exit.
 * Borrowed: its descriptor, and its absolute path.
 */
int fuzz_directory(void);
const char *fuzz_directory_path(void);

/* Makes `name` in that directory a way to fuzz_file(). */
void fuzz_file_link(const char *name);

#endif
