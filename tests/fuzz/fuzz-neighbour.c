/*
 * Any bytes as the end of what a failed program printed: what is told of its neighbours is one plain line of bounded
 * length, and names nothing that leads out of the folder of the script. The first byte chooses the place.
 */
#include "cli/neighbour_hint.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_LENGTH_MAX 4096

static void make_neighbours(void)
{
    static const char *const names[] = {"data.csv", "helper.py", "a b", "sub/part.js"};
    if (faccessat(fuzz_directory(), "sub", F_OK, 0) == 0)
        return;
    FUZZ_CHECK(mkdirat(fuzz_directory(), "sub", 0700) == 0);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        OWNED_FD int fd = openat(fuzz_directory(), names[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        FUZZ_CHECK(fd >= 0);
    }
}

static void check_line(struct buffer *text)
{
    const char *line = buffer_string(text);
    FUZZ_CHECK(line != NULL && text->length <= LINE_LENGTH_MAX);
    if (text->length == 0)
        return;
    FUZZ_CHECK(strchr(line, '\n') == line + text->length - 1);
    fuzz_check_plain(line, true);
    FUZZ_CHECK(line[0] != '/' || strstr(line, " is read-only: ") != NULL);
    FUZZ_CHECK(strstr(line, "../") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    uint8_t choice = fuzz_byte(&input);
    char script[PATH_MAX];
    struct folder workdir = {.path = (char *)fuzz_directory_path(), .mode = FOLDER_READ_ONLY};
    make_neighbours();
    snprintf(script, sizeof(script), "%s/x.py", fuzz_directory_path());
    const struct neighbour_place place = {
        .script = (choice & 1) != 0 ? NULL : script,
        .home = (choice & 2) != 0 ? fuzz_directory_path() : NULL,
        .may_mount = (choice & 4) == 0,
        .workdir = (choice & 8) != 0 ? &workdir : NULL,
    };
    OWNED(run_result_release)
    struct run_result result = {.outcome = OUTCOME_EXITED, .exit_code = 1};
    result.is_joined = (choice & 16) != 0;
    struct capture *capture = result.is_joined ? &result.out : &result.err;
    capture_open(capture, (choice & 32) != 0 ? 64 : 65536);
    FUZZ_CHECK(capture_add(capture, (const char *)input.data, input.size) == 0);
    capture_end(capture);
    OWNED(buffer_release) struct buffer text = BUFFER(2 * LINE_LENGTH_MAX);
    FUZZ_CHECK(neighbour_hint_write(&result, &place, &text) == 0);
    check_line(&text);
    return 0;
}
