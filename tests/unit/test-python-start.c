#include "interpreter/languages/python_start.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char directory[32];
    char bin[64];
    struct image image;
};

static const struct start_wishes nothing = {0}, preloaded = {.modules = "numpy,pandas"},
                                 all = {.modules = "json", .figures = true},
                                 plots = {.figures = true};
static const struct start_room large = {true, 1 << 20, 1 << 20}, later = {false, 1 << 20, 1 << 20};

static int make_image(void **state)
{
    static struct place place;
    place = (struct place){.directory = "/tmp/test-python-start.XXXXXX"};
    if (mkdtemp(place.directory) == NULL)
        return -1;
    char path[64];
    for (size_t i = 0; i < 4; i++) {
        static const char *const parts[] = {"low", "low/usr", "low/usr/bin", "high"};
        snprintf(path, sizeof(path), "%s/%s", place.directory, parts[i]);
        mkdir(path, 0755);
    }
    snprintf(place.bin, sizeof(place.bin), "%s/low/usr/bin", place.directory);
    place.image = (struct image){.name = (char *)"python", .rootfs = strdup(place.directory)};
    static char *layers[] = {(char *)"low", (char *)"high", NULL};
    place.image.layer_names = layers;
    *state = &place;
    return 0;
}

static int remove_image(void **state)
{
    struct place *place = *state;
    char command[64];
    free(place->image.rootfs);
    snprintf(command, sizeof(command), "rm -rf %s", place->directory);
    return system(command);
}

/* python3, through one link more, is a file of this name. */
static void install(const struct place *place, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", place->bin, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    static const char *const links[] = {"python3", "other"};
    for (size_t i = 0; i < ARRAY_LENGTH(links); i++) {
        snprintf(path, sizeof(path), "%s/%s", place->bin, links[i]);
        unlink(path);
        assert_int_equal(symlink(i == 0 ? "other" : name, path), 0);
    }
}

static void files_go_where_that_version_looks(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *program, *directory;
    } cases[] = {
        {"python3.13", ".local/lib/python3.13/site-packages/"},
        {"python3.9", ".local/lib/python3.9/site-packages/"},
        {"python3.14t", ".local/lib/python3.14t/site-packages/"},
        {"python3.", NULL},
        {"python3.13d", NULL},
        {"python3.13-wrapper", NULL},
        {"python3.x", NULL},
        {"python3.1234", NULL},
        {"pypy3.11", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        install(place, cases[i].program);
        OWNED(program_start_release) struct program_start start;
        assert_int_equal(python_start_make(&place->image, "python3", &preloaded, &start, NULL), 0);
        if ((start.count > 0) != (cases[i].directory != NULL))
            fail_msg("%s", cases[i].program);
        for (size_t j = 0; j < start.count; j++)
            assert_ptr_equal(strstr(start.files[j].path, cases[i].directory), start.files[j].path);
    }
}

static void an_image_without_the_program_starts_as_it_is(void **state)
{
    struct place *place = *state;
    OWNED(program_start_release) struct program_start start;
    assert_int_equal(python_start_make(&place->image, "python4", &preloaded, &start, NULL), 0);
    assert_int_equal(start.count, 0);
}

static void an_image_that_cannot_be_searched_is_an_error(void **state)
{
    struct place *place = *state;
    char name[300];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    struct fault fault = {0};
    OWNED(program_start_release) struct program_start start;
    assert_int_equal(python_start_make(&place->image, name, &preloaded, &start, &fault),
                     -ENAMETOOLONG);
    assert_non_null(strstr(fault.text, "cannot look for the program xxx"));
}

static void modules_are_imported_in_prewarmed_sandboxes_only(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    OWNED(program_start_release) struct program_start none;
    OWNED(program_start_release) struct program_start start;
    assert_int_equal(python_start_make(&place->image, "python3", &nothing, &none, NULL), 0);
    assert_int_equal(none.count, 0);
    assert_int_equal(python_start_make(&place->image, "python3", &preloaded, &start, NULL), 0);
    struct home_file files[PROGRAM_START_FILES_MAX];
    assert_int_equal(program_start_fit(&start, &large, files), 2);
    assert_true(files[0].warm_only && files[1].warm_only);
    assert_non_null(strstr(start.files[1].bytes, "preload('numpy,pandas'.split(','))\n"));
    assert_non_null(strstr(start.files[1].bytes, "def preload(modules)"));
    assert_null(strstr(start.files[1].bytes, "\"\"\""));
}

static void a_program_that_imports_nothing_is_spared(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    OWNED(program_start_release) struct program_start start;
    assert_int_equal(python_start_make(&place->image, "python3", &plots, &start, NULL), 0);
    struct home_file files[PROGRAM_START_FILES_MAX];
    assert_int_equal(program_start_fit(&start, &later, files), 1);
    assert_true(files[0].warm_only); /* all the same to those that wait for any program */
    assert_int_equal(program_start_fit(&start, &large, files), 1); /* the next run of the image */
    assert_false(files[0].warm_only);
}

static void figures_come_to_every_run_and_modules_last(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    OWNED(program_start_release) struct program_start start;
    assert_int_equal(python_start_make(&place->image, "python3", &all, &start, NULL), 0);
    struct home_file files[PROGRAM_START_FILES_MAX];
    assert_int_equal(program_start_fit(&start, &large, files), 2);
    assert_false(files[0].warm_only);
    assert_true(files[1].warm_only);
}

static bool has(const struct home_file *file, const char *text)
{
    return memmem(file->bytes, file->length, text, strlen(text)) != NULL;
}

static void the_program_of_figures_stands_in_bytecode(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    OWNED(program_start_release) struct program_start with;
    OWNED(program_start_release) struct program_start without;
    assert_int_equal(python_start_make(&place->image, "python3", &all, &with, NULL), 0);
    assert_int_equal(python_start_make(&place->image, "python3", &preloaded, &without, NULL), 0);
    const struct home_file *file = &with.files[0];
    static const char last[] =
        "configure(directory='/home/sandbox/.code-sandbox/figures', work_directory='/work', "
        "depth=16, pictures=8, counted=4000, bytes=716800, side=1600)\n";
    const char *end = memmem(file->bytes, file->length, last, strlen(last));
    const char *begin = memmem(file->bytes, file->length, "import _thread\n", 15);
    assert_true(begin != NULL && end != NULL && begin < end);
    size_t length = (size_t)(end + strlen(last) - begin);
    const unsigned char size[] = {(unsigned char)length, (unsigned char)(length >> 8), 0, 0};
    assert_memory_equal(begin - 4, size, 4);
    assert_int_equal(begin[-5] & 0x7f, 's');
    assert_int_equal(without.files[0].length, file->length - length);
    assert_false(has(&without.files[0], "configure("));
    assert_false(has(file, "@figures@") || has(&without.files[0], "@figures@"));
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static void versions_without_bytecode_get_the_source(void **state)
{
    struct place *place = *state;
    static const char *const names[] = {"python3.13", "python3.9", "python3.99", "python3.13t"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        install(place, names[i]);
        OWNED(program_start_release) struct program_start start;
        assert_int_equal(python_start_make(&place->image, "python3", &all, &start, NULL), 0);
        if (i < 2) {
            assert_true(ends_with(start.files[0].path, "/usercustomize.pyc"));
            assert_memory_equal(start.files[0].bytes + 2, "\r\n\0\0\0\0", 6); /* the magic's end */
        } else {
            assert_true(ends_with(start.files[0].path, "/usercustomize.py"));
            assert_memory_equal(start.files[0].bytes, "import os\n", 10);
            assert_true(has(&start.files[0], "figures = b'\\x69\\x6d\\x70\\x6f\\x72\\x74"));
        }
    }
}

static void a_python_that_does_not_look_for_them_gets_none(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    static const struct {
        const char *const environment[4];
        bool looks;
    } cases[] = {
        {{"PYTHONNOUSERSITE=1", NULL}, false},
        {{"A=", "PYTHONUSERBASE=/base", "B=", NULL}, false},
        {{"PYTHONNOUSERSITE=1", "PYTHONNOUSERSITE=", NULL}, true},
        {{"PYTHONNOUSERSITE=", "PYTHONNOUSERSITE=x", NULL}, false},
        {{"PYTHONNOUSERSITES=1", "PYTHON=1", NULL}, true},
        {{"HOME=/work", NULL}, false},
        {{"HOME=", NULL}, false},
        {{"HOME=/work", "HOME=/home/sandbox", "HOMES=/work", NULL}, true},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct start_wishes wishes = all;
        wishes.environment = cases[i].environment;
        OWNED(program_start_release) struct program_start start;
        assert_int_equal(python_start_make(&place->image, "python3", &wishes, &start, NULL), 0);
        assert_int_equal(start.count, cases[i].looks ? 2 : 0);
    }
}

static void a_small_disk_has_none(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    OWNED(program_start_release) struct program_start start;
    assert_int_equal(python_start_make(&place->image, "python3", &all, &start, NULL), 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = 0;
    for (size_t i = 0; i < start.count; i++)
        pages += start.files[i].length / page + (start.files[i].length % page != 0);
    struct home_file files[PROGRAM_START_FILES_MAX];
    struct start_room room = {true, pages * page, pages * page};
    assert_int_equal(program_start_fit(&start, &room, files), 2);
    assert_false(files[0].warm_only);
    room.space_cold--;
    assert_int_equal(program_start_fit(&start, &room, files), 2);
    assert_true(files[0].warm_only && files[1].warm_only);
    room.space_warm--;
    assert_int_equal(program_start_fit(&start, &room, files), 0);
}

static void a_small_limit_of_file_size_has_none(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {4096, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    OWNED(program_start_release) struct program_start start;
    struct home_file files[PROGRAM_START_FILES_MAX];
    int r = python_start_make(&place->image, "python3", &all, &start, NULL);
    size_t count = program_start_fit(&start, &large, files);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(r, 0);
    assert_int_equal(count, 0);
    assert_int_equal(program_start_fit(&start, &large, files), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_go_where_that_version_looks),
        cmocka_unit_test(an_image_without_the_program_starts_as_it_is),
        cmocka_unit_test(figures_come_to_every_run_and_modules_last),
        cmocka_unit_test(the_program_of_figures_stands_in_bytecode),
        cmocka_unit_test(versions_without_bytecode_get_the_source),
        cmocka_unit_test(a_python_that_does_not_look_for_them_gets_none),
        cmocka_unit_test(a_small_disk_has_none),
        cmocka_unit_test(a_small_limit_of_file_size_has_none),
        cmocka_unit_test(an_image_that_cannot_be_searched_is_an_error),
        cmocka_unit_test(a_program_that_imports_nothing_is_spared),
        cmocka_unit_test(modules_are_imported_in_prewarmed_sandboxes_only),
    };
    return cmocka_run_group_tests(tests, make_image, remove_image);
}
