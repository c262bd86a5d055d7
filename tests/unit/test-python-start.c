#include "mcp/tools/python_start.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char directory[32];
    char bin[64];
    struct image image;
};

static const struct python_wishes nothing = {0}, preloaded = {.modules = "numpy,pandas"},
                                  all = {.modules = "json", .figures = true, .figures_cold = true},
                                  later = {.figures = true};

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
        OWNED(python_start_release) struct python_start start;
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
    OWNED(python_start_release) struct python_start start;
    assert_int_equal(python_start_make(&place->image, "python4", &preloaded, &start, NULL), 0);
    assert_int_equal(start.count, 0);
}

static void modules_are_imported_in_prewarmed_sandboxes_only(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    OWNED(python_start_release) struct python_start none;
    OWNED(python_start_release) struct python_start start;
    assert_int_equal(python_start_make(&place->image, "python3", &nothing, &none, NULL), 0);
    assert_int_equal(none.count, 0);
    assert_int_equal(python_start_make(&place->image, "python3", &preloaded, &start, NULL), 0);
    assert_int_equal(start.count, 2);
    assert_true(start.files[0].warm_only && start.files[1].warm_only);
    assert_non_null(strstr(start.files[0].text, "('numpy,pandas'.split(','))\n"));
    assert_ptr_equal(strstr(start.files[0].text, "import "), start.files[0].text);
    assert_ptr_equal(strchr(start.files[0].text, '\n'), strrchr(start.files[0].text, '\n'));
    assert_non_null(strstr(start.files[1].text, "def preload(modules)"));
    assert_null(strstr(start.files[1].text, "\"\"\""));
}

static void a_program_that_imports_nothing_is_spared(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    OWNED(python_start_release) struct python_start start;
    assert_int_equal(python_start_make(&place->image, "python3", &later, &start, NULL), 0);
    assert_int_equal(start.count, 2); /* all the same to those that wait for any program */
    assert_true(start.files[0].warm_only && start.files[1].warm_only);
}

static void figures_come_to_every_run_and_the_line_last(void **state)
{
    struct place *place = *state;
    install(place, "python3.13");
    OWNED(python_start_release) struct python_start start;
    assert_int_equal(python_start_make(&place->image, "python3", &all, &start, NULL), 0);
    assert_int_equal(start.count, 4);
    assert_true(!start.files[0].warm_only && !start.files[1].warm_only);
    assert_true(start.files[2].warm_only && start.files[3].warm_only);
    assert_true(strcmp(start.files[2].path, start.files[0].path) < 0); /* preload.pth, start.pth */
    assert_ptr_equal(strstr(start.files[0].text, "import "), start.files[0].text);
    assert_ptr_equal(strchr(start.files[0].text, '\n'), strrchr(start.files[0].text, '\n'));
    assert_non_null(
        strstr(start.files[1].text,
               "configure(directory='/home/sandbox/.code-sandbox/figures', "
               "work_directory='/work', depth=4, pictures=8, bytes=716800, side=1600)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_go_where_that_version_looks),
        cmocka_unit_test(an_image_without_the_program_starts_as_it_is),
        cmocka_unit_test(figures_come_to_every_run_and_the_line_last),
        cmocka_unit_test(a_program_that_imports_nothing_is_spared),
        cmocka_unit_test(modules_are_imported_in_prewarmed_sandboxes_only),
    };
    return cmocka_run_group_tests(tests, make_image, remove_image);
}
