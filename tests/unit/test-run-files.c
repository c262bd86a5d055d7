#include "sandbox/run_files.h"

#include "sandbox/base/fd_message.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/parcel.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Directories of a run, and what was collected there. */
struct place {
    char path[32];
    int work_fd, home_fd, temporary_fd;
    struct run_files files, figures;
    struct run_left_out left_out;
};

static int place_make(void **state)
{
    static struct place place;
    place = (struct place){.path = "/tmp/test-run-files-XXXXXX"};
    assert_non_null(mkdtemp(place.path));
    OWNED_FD int fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(
        mkdirat(fd, "work", 0700) | mkdirat(fd, "home", 0700) | mkdirat(fd, "tmp", 0700), 0);
    place.work_fd = openat(fd, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    place.home_fd = openat(fd, "home", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    place.temporary_fd = openat(fd, "tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &place;
    return place.work_fd < 0 || place.home_fd < 0 || place.temporary_fd < 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static int place_remove(void **state)
{
    struct place *place = *state;
    run_files_release(&place->files);
    run_files_release(&place->figures);
    run_left_out_release(&place->left_out);
    fd_close(&place->work_fd);
    fd_close(&place->home_fd);
    fd_close(&place->temporary_fd);
    return nftw(place->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file of that content, last written at that second, below a directory. */
static void make(int directory_fd, const char *path, const char *text, time_t second)
{
    OWNED_FD int fd = openat(directory_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    const struct timespec times[] = {{second, 0}, {second, 0}};
    assert_int_equal(futimens(fd, times), 0);
}

static void collect_with(struct place *place, const struct run_files_source *source)
{
    int ends[2] = {-1, -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    OWNED_FD int own = ends[0];
    OWNED_FD int other = ends[1];
    char byte = 0;
    int fds[] = {place->work_fd, place->home_fd, place->temporary_fd};
    assert_int_equal(fd_message_send(other, &(struct fd_message){&byte, 1, fds, 3}), 0);
    OWNED(run_directories_close) struct run_directories directories;
    run_directories_receive(own, NULL, &directories);
    struct run_files_source whole = *source;
    whole.directories = &directories;
    whole.guard = &(struct folder_guard){0};
    run_files_release(&place->files);
    run_files_release(&place->figures);
    run_left_out_release(&place->left_out);
    struct run_result result = {0};
    run_files_collect(&whole, &result);
    assert_false(result.files_lost);
    place->files = result.files;
    place->figures = result.figures;
    place->left_out = result.left_out;
}

static void collect(struct place *place)
{
    collect_with(place, &(struct run_files_source){.code_name = "main.py", .inputs = {.fd = -1}});
}

static void assert_paths(const struct run_files *files, const char *paths)
{
    char text[4096] = "";
    size_t used = 0;
    for (size_t i = 0; i < files->count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ", files->list[i].path);
    assert_string_equal(text, paths);
}

static void files_come_with_content_the_oldest_first_then_by_name(void **state)
{
    struct place *place = *state;
    make(place->work_fd, "z", "oldest", 10);
    make(place->work_fd, "b", "", 20);
    make(place->work_fd, "a", "a", 20);
    assert_int_equal(mkdirat(place->work_fd, "d", 0700), 0);
    make(place->work_fd, "d/c", "c", 15);
    make(place->work_fd, "main.py", "the program", 1);
    make(place->work_fd, "d/main.py", "no program", 30);
    collect(place);
    assert_paths(&place->files, "z d/c a b d/main.py ");
    char bytes[16] = "";
    assert_int_equal(pread(place->files.list[0].fd, bytes, sizeof(bytes), 0), 6);
    assert_string_equal(bytes, "oldest");
    assert_int_equal(place->files.list[0].size, 6);
    assert_int_equal(place->files.more, 0);
    assert_false(place->files.more_at_least);
    assert_int_equal(place->figures.count, 0);
}

static void what_is_no_regular_file_is_left_out(void **state)
{
    struct place *place = *state;
    make(place->home_fd, "secret", "secret", 1);
    assert_int_equal(mkdirat(place->home_fd, "folder", 0700), 0);
    make(place->home_fd, "folder/secret", "secret", 1);
    assert_int_equal(symlinkat("../home/secret", place->work_fd, "link"), 0);
    assert_int_equal(symlinkat("/etc/passwd", place->work_fd, "absolute"), 0);
    assert_int_equal(symlinkat("../home/folder", place->work_fd, "folder"), 0);
    assert_int_equal(symlinkat("nowhere", place->work_fd, "dangling"), 0);
    assert_int_equal(mkfifoat(place->work_fd, "fifo", 0600), 0);
    OWNED_FD int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(sock >= 0);
    assert_int_equal(mknodat(place->work_fd, "socket", S_IFSOCK | 0600, 0), 0);
    collect(place);
    assert_paths(&place->files, "");
    assert_int_equal(place->files.more, 0);
}

static void what_the_owner_may_not_read_is_left_out(void **state)
{
    struct place *place = *state;
    make(place->work_fd, "closed", "x", 1);
    assert_int_equal(fchmodat(place->work_fd, "closed", 0, 0), 0);
    assert_int_equal(mkdirat(place->work_fd, "d", 0700), 0);
    make(place->work_fd, "d/x", "x", 1);
    assert_int_equal(fchmodat(place->work_fd, "d", 0300, 0), 0);
    collect(place);
    assert_paths(&place->files, "");
    assert_int_equal(place->left_out.count[LEFT_UNREADABLE], 2);
    assert_int_equal(place->left_out.more[LEFT_UNREADABLE], 0);
    assert_int_equal(fchmodat(place->work_fd, "d", 0700, 0), 0);
}

static void what_is_elsewhere_is_named_the_newest_first(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->temporary_fd, "d", 0700), 0);
    make(place->temporary_fd, "d/old", "x", 1);
    make(place->temporary_fd, "new", "xyz", 2);
    make(place->temporary_fd, "main.py", "", 3);
    make(place->temporary_fd, ".lock", "x", 4);
    assert_int_equal(mkdirat(place->home_fd, "Downloads", 0700), 0);
    make(place->home_fd, "Downloads/a.csv", "a,b", 5);
    assert_int_equal(mkdirat(place->home_fd, ".cache", 0700), 0);
    make(place->home_fd, ".cache/x", "x", 6);
    collect(place);
    assert_paths(&place->files, "");
    static const char *const expected[] = {"main.py", "new", "d/old", "Downloads/a.csv"};
    assert_int_equal(place->left_out.count[LEFT_ELSEWHERE], ARRAY_LENGTH(expected));
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
        assert_string_equal(place->left_out.list[LEFT_ELSEWHERE][i].path, expected[i]);
    for (char name = 'p'; name < 'p' + RUN_LEFT_MAX; name++)
        make(place->temporary_fd, (char[]){name, '\0'}, "", 7);
    collect(place);
    assert_int_equal(place->left_out.count[LEFT_ELSEWHERE], RUN_LEFT_MAX);
    assert_int_equal(place->left_out.more[LEFT_ELSEWHERE], 4);
}

static void caches_and_packages_are_left_out_at_any_depth(void **state)
{
    struct place *place = *state;
    static const char *const folders[] = {"__pycache__", "node_modules", "d", "d/__pycache__"};
    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        char path[64];
        assert_int_equal(mkdirat(place->work_fd, folders[i], 0700), 0);
        snprintf(path, sizeof(path), "%s/x", folders[i]);
        make(place->work_fd, path, "x", 1);
    }
    make(place->work_fd, "node_modules.txt", "x", 2);
    collect(place);
    assert_paths(&place->files, "d/x node_modules.txt ");
    assert_string_equal(place->left_out.list[LEFT_UNLISTED][0].path, "node_modules");
}

static void nothing_deeper_than_the_limit_is_seen(void **state)
{
    struct place *place = *state;
    char path[RUN_FILE_PATH_SIZE] = "";
    char expected[RUN_FILE_PATH_SIZE] = "";
    for (size_t depth = 1; depth <= RUN_FILE_DEPTH_MAX + 1; depth++) {
        size_t length = strlen(path);
        snprintf(path + length, sizeof(path) - length, "x");
        make(place->work_fd, path, "x", (time_t)depth);
        if (depth <= RUN_FILE_DEPTH_MAX)
            snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s ", path);
        snprintf(path + length, sizeof(path) - length, "d");
        assert_int_equal(mkdirat(place->work_fd, path, 0700), 0);
        snprintf(path + length + 1, sizeof(path) - length - 1, "/");
    }
    collect(place);
    assert_paths(&place->files, expected);
    assert_int_equal(place->left_out.count[LEFT_TOO_DEEP], 1);
}

static void the_longest_path_fits(void **state)
{
    struct place *place = *state;
    char path[2 * RUN_FILE_PATH_SIZE];
    memset(path, 'n', sizeof(path));
    const size_t parts = RUN_FILE_PATH_SIZE / 256;
    for (size_t depth = 1; depth <= parts; depth++) {
        path[256 * depth - 1] = '\0';
        if (depth < parts)
            assert_int_equal(mkdirat(place->work_fd, path, 0700), 0);
        else
            make(place->work_fd, path, "x", 1);
        path[256 * depth - 1] = '/';
    }
    path[256 * parts - 1] = '\0';
    collect(place);
    assert_int_equal(place->files.count, 1);
    assert_string_equal(place->files.list[0].path, path);
}

static void the_newest_of_many_are_taken_and_the_others_counted(void **state)
{
    struct place *place = *state;
    size_t count = RUN_FILES_LOOKED_MAX + 10;
    for (size_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%zu", i);
        make(place->work_fd, name, "", (time_t)i);
    }
    collect(place);
    assert_int_equal(place->files.count, RUN_FILES_MAX);
    assert_int_equal(place->files.more, count - RUN_FILES_MAX);
    assert_false(place->files.more_at_least);
    for (size_t i = 1; i < RUN_FILES_MAX; i++)
        assert_true(atoi(place->files.list[i - 1].path) < atoi(place->files.list[i].path));
}

static void no_more_names_are_read_than_the_limit(void **state)
{
    struct place *place = *state;
    for (size_t i = 0; i <= RUN_NAMES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%zu", i);
        assert_int_equal(mknodat(place->work_fd, name, S_IFREG | 0600, 0), 0);
    }
    collect(place);
    assert_int_equal(place->files.count, RUN_FILES_MAX);
    assert_int_equal(place->files.more, RUN_NAMES_MAX - RUN_FILES_MAX);
    assert_true(place->files.more_at_least);
}

static void no_more_directories_are_entered_than_the_limit(void **state)
{
    struct place *place = *state;
    for (size_t i = 0; i <= RUN_DIRECTORIES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%zu", i);
        assert_int_equal(mkdirat(place->work_fd, name, 0700), 0);
    }
    collect(place);
    assert_paths(&place->files, "");
    assert_true(place->files.more_at_least);
}

/* The parcel of a run with these input files, in memory. */
static int make_parcel(const struct run_input *inputs, size_t count, struct run_inputs *ret_inputs)
{
    const struct run_spec spec = {
        .code = "code", .code_length = 4, .inputs = inputs, .input_count = count};
    struct parcel parcel = {0};
    assert_int_equal(parcel_make(&spec, &parcel), 0);
    int fd = memfd_create("parcel", MFD_CLOEXEC);
    assert_int_equal(write(fd, parcel.bytes, parcel.length), parcel.length);
    *ret_inputs = (struct run_inputs){fd, parcel.code_length, parcel.file_count};
    parcel_release(&parcel);
    return fd;
}

static void inputs_are_left_out_while_they_are_unchanged(void **state)
{
    struct place *place = *state;
    static const struct run_input inputs[] = {{"d/input", "given", 5}, {"other", "", 0}};
    struct run_files_source source = {.code_name = "x"};
    OWNED_FD int fd = make_parcel(inputs, 2, &source.inputs);
    assert_true(fd >= 0);
    assert_int_equal(mkdirat(place->work_fd, "d", 0700), 0);
    make(place->work_fd, "d/input", "given", 1);
    make(place->work_fd, "input", "given", 2);
    make(place->work_fd, "other", "", 3);
    collect_with(place, &source);
    assert_paths(&place->files, "input ");
    make(place->work_fd, "d/input", "taken", 1);
    make(place->work_fd, "other", "longer", 3);
    collect_with(place, &source);
    assert_paths(&place->files, "d/input input other ");
}

static void inputs_take_no_place_of_others(void **state)
{
    struct place *place = *state;
    static struct run_input inputs[INPUT_FILES_MAX];
    static char names[INPUT_FILES_MAX][16];
    struct run_files_source source = {.code_name = "x"};
    for (size_t i = 0; i < INPUT_FILES_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "%zu", i);
        inputs[i] = (struct run_input){names[i], "given", 5};
        make(place->work_fd, names[i], "given", 1000);
    }
    make(place->work_fd, "oldest", "x", 1);
    OWNED_FD int fd = make_parcel(inputs, INPUT_FILES_MAX, &source.inputs);
    assert_true(fd >= 0);
    collect_with(place, &source);
    assert_paths(&place->files, "oldest ");
    assert_int_equal(place->files.more, 0);
}

static void make_inputs(const struct place *place, const struct run_input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        make(place->work_fd, inputs[i].name, "given", 1);
}

static void inputs_are_not_counted_among_many(void **state)
{
    struct place *place = *state;
    static struct run_input inputs[INPUT_FILES_MAX];
    static char names[INPUT_FILES_MAX][16];
    struct run_files_source source = {.code_name = "main.py"};
    const size_t left = RUN_FILES_LOOKED_MAX + 500;
    for (size_t i = 0; i < INPUT_FILES_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "%zu", i);
        inputs[i] = (struct run_input){names[i], "given", 5};
    }
    /* Some on each side of the others: a tmpfs lists the newest first. */
    make_inputs(place, inputs, INPUT_FILES_MAX / 2);
    for (size_t i = 0; i < left; i++) {
        char name[16];
        snprintf(name, sizeof(name), "left-%zu", i);
        make(place->work_fd, name, "", 2);
    }
    make(place->work_fd, "main.py", "the program", 1);
    make_inputs(place, &inputs[INPUT_FILES_MAX / 2], INPUT_FILES_MAX - INPUT_FILES_MAX / 2);
    OWNED_FD int fd = make_parcel(inputs, INPUT_FILES_MAX, &source.inputs);
    collect_with(place, &source);
    assert_in_range(place->files.more, left - RUN_FILES_MAX - INPUT_FILES_MAX,
                    left - RUN_FILES_MAX);
    assert_true(place->files.more_at_least);
}

static void figures_come_in_their_order_and_those_not_drawn_are_counted(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->home_fd, ".code-sandbox", 0700), 0);
    assert_int_equal(mkdirat(place->home_fd, RUN_FIGURES_PATH, 0700), 0);
    OWNED_FD int fd = openat(place->home_fd, RUN_FIGURES_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    static const char *const others[] = {"0000.png", "1.png",        "00001.png",
                                         "0001.PNG", "0001.png.tmp", "x"};
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        make(fd, others[i], "x", 1);
    assert_int_equal(mkdirat(fd, "0099.png", 0700), 0);
    assert_int_equal(symlinkat("0001.png", fd, "0098.png"), 0);
    for (size_t i = 12; i > 0; i--) {
        char name[16];
        snprintf(name, sizeof(name), "%04zu.png", i);
        make(fd, name, i > 8 || i == 3 ? "" : "x", (time_t)i);
    }
    collect(place);
    assert_paths(&place->figures,
                 "0001.png 0002.png 0004.png 0005.png 0006.png 0007.png 0008.png ");
    assert_int_equal(place->figures.more, 5);
    make(fd, "0010.png", "x", 1);
    make(fd, "0011.png", "x", 1);
    collect(place);
    assert_int_equal(place->figures.count, RUN_FIGURES_MAX);
    assert_string_equal(place->figures.list[7].path, "0010.png");
    assert_int_equal(place->figures.more, 4);
}

static void a_link_on_the_way_to_figures_leads_nowhere(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->work_fd, "figures", 0700), 0);
    make(place->work_fd, "figures/0001.png", "x", 1);
    assert_int_equal(symlinkat("../work", place->home_fd, ".code-sandbox"), 0);
    collect(place);
    assert_int_equal(place->figures.count, 0);
    assert_int_equal(unlinkat(place->home_fd, ".code-sandbox", 0), 0);
    assert_int_equal(mkdirat(place->home_fd, ".code-sandbox", 0700), 0);
    assert_int_equal(symlinkat("../../work/figures", place->home_fd, RUN_FIGURES_PATH), 0);
    collect(place);
    assert_int_equal(place->figures.count, 0);
}

/* Waits until the clock of file systems, which moves in steps, is past the present time. */
static struct timespec next_tick(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_REALTIME, &begin);
    do {
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec < begin.tv_sec ||
             (now.tv_sec == begin.tv_sec && now.tv_nsec <= begin.tv_nsec));
    return now;
}

static void what_was_seen_is_not_taken_again(void **state)
{
    struct place *place = *state;
    struct run_files_seen seen = {0};
    struct run_files_source source = {
        .code_name = "", .inputs = {.fd = -1}, .since = next_tick(), .seen = &seen};
    make(place->work_fd, "a", "1", 1);
    make(place->work_fd, "b", "1", 2);
    collect_with(place, &source);
    assert_paths(&place->files, "a b ");
    collect_with(place, &source);
    assert_paths(&place->files, "");
    next_tick();
    make(place->work_fd, "b", "2", 3);
    collect_with(place, &source);
    assert_paths(&place->files, "b ");
    collect_with(place, &source);
    assert_paths(&place->files, "");
}

static void only_what_changed_since_is_taken(void **state)
{
    struct place *place = *state;
    make(place->work_fd, "old.txt", "1", 100);
    make(place->work_fd, "changed.txt", "1", 100);
    assert_int_equal(mkdirat(place->home_fd, ".code-sandbox", 0700), 0);
    assert_int_equal(mkdirat(place->home_fd, RUN_FIGURES_PATH, 0700), 0);
    make(place->home_fd, RUN_FIGURES_PATH "/0001.png", "1", 100);
    const struct timespec since = next_tick();
    make(place->work_fd, "changed.txt", "2", 50);
    make(place->work_fd, "new.txt", "1", 60);
    make(place->home_fd, RUN_FIGURES_PATH "/0002.png", "1", 100);
    collect_with(place, &(struct run_files_source){
                            .code_name = "main.py", .inputs = {.fd = -1}, .since = since});
    assert_paths(&place->files, "changed.txt new.txt ");
    assert_paths(&place->figures, "0002.png ");
    collect(place);
    assert_paths(&place->files, "changed.txt new.txt old.txt ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_come_with_content_the_oldest_first_then_by_name),
        TEST(what_is_no_regular_file_is_left_out),
        TEST(what_the_owner_may_not_read_is_left_out),
        TEST(what_is_elsewhere_is_named_the_newest_first),
        TEST(caches_and_packages_are_left_out_at_any_depth),
        TEST(nothing_deeper_than_the_limit_is_seen),
        TEST(the_longest_path_fits),
        TEST(the_newest_of_many_are_taken_and_the_others_counted),
        TEST(no_more_names_are_read_than_the_limit),
        TEST(no_more_directories_are_entered_than_the_limit),
        TEST(inputs_are_left_out_while_they_are_unchanged),
        TEST(inputs_take_no_place_of_others),
        TEST(inputs_are_not_counted_among_many),
        TEST(figures_come_in_their_order_and_those_not_drawn_are_counted),
        TEST(a_link_on_the_way_to_figures_leads_nowhere),
        TEST(only_what_changed_since_is_taken),
        TEST(what_was_seen_is_not_taken_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
