#include "images/store/image_record.h"
#include "images/store/image_use.h"
#include "images/store/publish.h"
#include "images/store/store.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

/* A store of its own for each test, removed after it. */
struct place {
    char path[64];
};

static int place_make(void **state)
{
    static struct place place;
    strcpy(place.path, "/tmp/test-store-XXXXXX");
    *state = &place;
    return mkdtemp(place.path) != NULL ? 0 : -1;
}

static int place_remove(void **state)
{
    struct place *place = *state;
    return tree_remove(AT_FDCWD, place->path);
}

static const char *store_of(void **state)
{
    return ((struct place *)*state)->path;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Makes an image whose record holds this text, or none when it is NULL. */
static void make_image(const char *store, const char *name, const char *record)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/images", store);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/images/%s", store, name);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/images/%s/rootfs", store, name);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/images/%s/image.json", store, name);
    if (record != NULL)
        write_text(path, record);
}

static bool is_there(const char *store, const char *below)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", store, below);
    struct stat status;
    return lstat(path, &status) == 0;
}

static size_t count_entries(const char *store)
{
    struct tree_size size = {0};
    assert_int_equal(tree_measure(AT_FDCWD, store, &size), 0);
    return size.files;
}

static void names_keep_to_the_rule(void **state)
{
    (void)state;
    char longest[IMAGE_NAME_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[IMAGE_NAME_MAX + 1] = '\0';
    struct fault fault = {0};
    assert_int_equal(image_name_check(longest, &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "1 to 128"));
    longest[IMAGE_NAME_MAX] = '\0';
    assert_int_equal(image_name_check(longest, NULL), 0);
    assert_int_equal(image_name_check("python-3.13_slim", NULL), 0);
    static const char *const bad[] = {"",   ".",   "..",  ".python",  "-python", "a/b",
                                      "Py", "a b", "a\n", "\xc3\xa4", "../a",    "a:b"};
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_int_equal(image_name_check(bad[i], NULL), -EINVAL);
}

static void path_comes_from_xdg_then_home(void **state)
{
    (void)state;
    OWNED_MEMORY char *first = NULL;
    setenv("XDG_DATA_HOME", "/data", 1);
    setenv("HOME", "/home/someone", 1);
    assert_int_equal(store_path(&first, NULL), 0);
    assert_string_equal(first, "/data/code-sandbox-mcp");
    OWNED_MEMORY char *second = NULL;
    setenv("XDG_DATA_HOME", "relative/is/ignored", 1);
    assert_int_equal(store_path(&second, NULL), 0);
    assert_string_equal(second, "/home/someone/.local/share/code-sandbox-mcp");
    OWNED_MEMORY char *third = NULL;
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    struct fault fault = {0};
    int r = store_path(&third, &fault);
    assert_true(r == 0 ? third[0] == '/' : fault.text[0] != '\0');
}

static void absent_image_names_the_command_that_fetches_it(void **state)
{
    struct image image;
    struct fault recipe = {0}, unknown = {0};
    assert_int_equal(image_open(store_of(state), "python", &image, &recipe), -ENOENT);
    assert_non_null(strstr(recipe.text, "code-sandbox-mcp fetch python"));
    assert_int_equal(image_open(store_of(state), "mine", &image, &unknown), -ENOENT);
    assert_non_null(strstr(unknown.text, "fetch mine --from SOURCE"));
    assert_int_equal(image_open(store_of(state), "../x", &image, NULL), -EINVAL);
}

static void absent_image_names_the_nearest_there_is(void **state)
{
    struct image image;
    struct fault catalog = {0}, present = {0};
    make_image(store_of(state), "drawing", "{}");
    assert_int_equal(image_open(store_of(state), "pyhton", &image, &catalog), -ENOENT);
    assert_non_null(strstr(catalog.text, "did you mean python?"));
    assert_int_equal(image_open(store_of(state), "drwing", &image, &present), -ENOENT);
    assert_non_null(strstr(present.text, "did you mean drawing?"));
}

static void reads_back_what_it_wrote(void **state)
{
    make_image(store_of(state), "mine", NULL);
    OWNED(image_release) struct image read = {0};
    assert_int_equal(image_open(store_of(state), "mine", &read, NULL), -ENOENT);
    struct home_link links[] = {{".cache/a", "/usr/share/a"}, {"b", "/b"}};
    char *environment[] = {(char *)"A=1=2", (char *)"EMPTY=", NULL};
    const struct image written = {
        .name = (char *)"mine",
        .source = (char *)"a \"test\"",
        .created = (char *)"2026-01-02T03:04:05Z",
        .summary = (char *)"nothing",
        .size_bytes = UINT64_C(5) << 32,
        .file_count = 7,
        .home_links = links,
        .home_link_count = 2,
        .environment = environment,
    };
    char path[512];
    snprintf(path, sizeof(path), "%s/images/mine", store_of(state));
    OWNED_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(image_record_write(fd, &written, NULL), 0);
    assert_int_equal(image_open(store_of(state), "mine", &read, NULL), 0);
    assert_string_equal(read.source, written.source);
    assert_string_equal(read.created, written.created);
    assert_int_equal(read.size_bytes, written.size_bytes);
    assert_int_equal(read.file_count, 7);
    assert_int_equal(read.home_link_count, 2);
    assert_string_equal(read.home_links[0].target, "/usr/share/a");
    assert_string_equal(read.environment[0], "A=1=2");
    assert_string_equal(read.environment[1], "EMPTY=");
    assert_null(read.environment[2]);
    assert_int_equal(strncmp(read.rootfs, path, strlen(path)), 0);
}

static void reads_back_the_layers_it_wrote(void **state)
{
    make_image(store_of(state), "mine", NULL);
    struct image_layer layers[] = {
        {"aaaabbbbccccdddd", (char *)"packages", (char *)"2026-01-02T03:04:05Z", 5, 2},
        {"2222333344445555", (char *)"images add --pip six", (char *)"2026-01-02T03:04:06Z", 6, 3},
    };
    struct image written = {
        .name = (char *)"mine",
        .source = (char *)"",
        .created = (char *)"",
        .summary = (char *)"",
        .layers = layers,
        .layer_count = 1,
    };
    char path[512];
    snprintf(path, sizeof(path), "%s/images/mine", store_of(state));
    OWNED_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(image_record_write(fd, &written, NULL), 0);
    OWNED(image_release) struct image one = {0};
    assert_int_equal(image_open(store_of(state), "mine", &one, NULL), 0);
    snprintf(path, sizeof(path), "%s/layers/aaaabbbbccccdddd/tree", store_of(state));
    assert_string_equal(one.rootfs, path);
    assert_null(one.layer_names);
    assert_int_equal(unlinkat(fd, RECORD_FILE, 0), 0);
    written.layer_count = 2;
    assert_int_equal(image_record_write(fd, &written, NULL), 0);
    OWNED(image_release) struct image two = {0};
    assert_int_equal(image_open(store_of(state), "mine", &two, NULL), 0);
    snprintf(path, sizeof(path), "%s/layers", store_of(state));
    assert_string_equal(two.rootfs, path);
    assert_string_equal(two.layer_names[0], "aaaabbbbccccdddd/tree");
    assert_string_equal(two.layer_names[1], "2222333344445555/tree");
    assert_null(two.layer_names[2]);
    assert_string_equal(two.layers[1].origin, "images add --pip six");
    assert_int_equal(two.layers[1].size_bytes, 6);
    assert_int_equal(two.layers[1].file_count, 3);
}

static void an_image_is_held_once_however_many_use_it(void **state)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/layers", store_of(state));
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/layers/aaaabbbbccccdddd", store_of(state));
    assert_int_equal(mkdir(path, 0755), 0);
    make_image(store_of(state), "mine", "{\"layers\":[{\"id\":\"aaaabbbbccccdddd\"}]}");
    struct used_images used = {0};
    struct used_image *first = NULL, *second = NULL;
    assert_int_equal(image_use(&used, store_of(state), "mine", &first, NULL), 0);
    assert_int_equal(image_use(&used, store_of(state), "mine", &second, NULL), 0);
    assert_ptr_equal(first, second);
    assert_int_equal(image_remove(store_of(state), "mine", NULL), 1);
    image_use_end(first);
    struct pruned pruned = {0};
    assert_int_equal(image_prune(store_of(state), &pruned, NULL), 0);
    assert_int_equal(pruned.held, 1);
    image_use_end(second);
    assert_null(used.first);
    assert_int_equal(image_prune(store_of(state), &pruned, NULL), 0);
    assert_int_equal(pruned.held, 0);
    assert_int_equal(pruned.layers, 1);
    assert_int_equal(rmdir(path), -1);
    assert_int_equal(errno, ENOENT);
}

static void an_image_without_its_layer_tells_how_to_mend_it(void **state)
{
    make_image(store_of(state), "mine", "{\"layers\":[{\"id\":\"aaaabbbbccccdddd\"}]}");
    struct used_images used = {0};
    struct used_image *one = NULL;
    struct fault fault = {0};
    assert_int_equal(image_use(&used, store_of(state), "mine", &one, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "fetch --force mine"));
    assert_null(used.first);
}

static void refuses_a_damaged_record(void **state)
{
    static const char *const records[] = {
        "",
        "[]",
        "{\"layers\":[]}",
        "{\"layers\":[{\"id\":\"../../../../etc/\"}]}",
        "{\"layers\":[{\"id\":\"aaaabbbbccccdddd/\"}]}",
        "{\"layers\":{}}",
        "{",
        "{\"source\":1}",
        "{\"source\":\"a\\u0000b\"}",
        "{\"size_bytes\":-1}",
        "{\"size_bytes\":\"1\"}",
        "{\"home\":[]}",
        "{\"home\":{\"../x\":\"/x\"}}",
        "{\"home\":{\"/x\":\"/x\"}}",
        "{\"home\":{\"a//b\":\"/x\"}}",
        "{\"home\":{\"a\":\"x\"}}",
        "{\"home\":{\"a\":\"/x/../..\"}}",
        "{\"environment\":{\"A=B\":\"c\"}}",
        "{\"environment\":{\"\":\"c\"}}",
        "{\"environment\":[\"A=B\"]}",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(records); i++) {
        char name[32];
        snprintf(name, sizeof(name), "image-%zu", i);
        make_image(store_of(state), name, records[i]);
        struct image image = {0};
        struct fault fault = {0};
        assert_int_equal(image_open(store_of(state), name, &image, &fault), -EINVAL);
        /* The remedy must be one that the image program takes: no recipe has this name. */
        char remedy[128];
        snprintf(remedy, sizeof(remedy), "fetch --force --from FILE --name %s", name);
        assert_non_null(strstr(fault.text, remedy));
    }
}

static void damaged_image_of_the_catalog_is_fetched_again_by_its_name(void **state)
{
    make_image(store_of(state), "python", "{");
    struct image image = {0};
    struct fault fault = {0};
    assert_int_equal(image_open(store_of(state), "python", &image, &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "code-sandbox-mcp fetch --force python"));
}

static void lists_complete_images_by_name(void **state)
{
    struct image *images;
    size_t count;
    assert_int_equal(image_list(store_of(state), &images, &count, NULL), 0);
    assert_int_equal(count, 0);
    image_list_free(images, count);
    make_image(store_of(state), "zebra", "{}");
    make_image(store_of(state), "ant", "{}");
    make_image(store_of(state), "half", NULL);
    make_image(store_of(state), ".building-ant.abcdef", "{}");
    assert_int_equal(image_list(store_of(state), &images, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_string_equal(images[0].name, "ant");
    assert_string_equal(images[1].name, "zebra");
    image_list_free(images, count);
}

static void removes_directories_of_mode_000(void **state)
{
    make_image(store_of(state), "mine", "{}");
    char path[512];
    snprintf(path, sizeof(path), "%s/images/mine/rootfs/a", store_of(state));
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/images/mine/rootfs/a/b", store_of(state));
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(symlink("/", strcat(path, "/link")), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(chmod(path, 0), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(chmod(path, 0), 0);
    struct fault fault = {0};
    if (image_remove(store_of(state), "mine", &fault) != 0)
        fail_msg("%s", fault.text);
    assert_int_equal(count_entries(store_of(state)), 1);
    assert_int_equal(image_remove(store_of(state), "mine", NULL), -ENOENT);
}

static void removes_a_damaged_image(void **state)
{
    make_image(store_of(state), "mine", "[");
    assert_int_equal(image_remove(store_of(state), "mine", NULL), 0);
    assert_false(is_there(store_of(state), "images/mine"));
}

/* Another process takes the lock and dies with it held; says so by a byte, waits for a byte. */
static pid_t hold_lock(const char *store, const char *name, int *ret_say)
{
    int say[2], heard[2];
    assert_int_equal(pipe2(say, O_CLOEXEC), 0);
    assert_int_equal(pipe2(heard, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct publish_lock lock = PUBLISH_LOCK_NONE;
        pid_t holder;
        char byte = publish_lock(store, name, &lock, &holder, NULL) == 0 ? 'y' : 'n';
        close(say[1]);
        (void)!write(heard[1], &byte, 1);
        (void)!read(say[0], &byte, 1);
        _exit(0);
    }
    char byte = 'n';
    assert_int_equal(read(heard[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(heard[0]);
    close(heard[1]);
    close(say[0]);
    *ret_say = say[1];
    return pid;
}

static void lock_excludes_and_ends_with_its_process(void **state)
{
    int say;
    pid_t pid = hold_lock(store_of(state), "mine", &say);
    OWNED(publish_unlock) struct publish_lock lock = PUBLISH_LOCK_NONE;
    pid_t holder = 0;
    assert_int_equal(publish_lock(store_of(state), "mine", &lock, &holder, NULL), 1);
    assert_int_equal(holder, pid);
    make_image(store_of(state), "mine", "{}");
    struct fault fault = {0};
    assert_int_equal(image_remove(store_of(state), "mine", &fault), -EBUSY);
    assert_true(is_there(store_of(state), "images/mine"));
    close(say);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(publish_lock(store_of(state), "mine", &lock, &holder, NULL), 0);
}

static void lock_leaves_no_file(void **state)
{
    struct publish_lock lock = PUBLISH_LOCK_NONE;
    pid_t holder;
    assert_int_equal(publish_lock(store_of(state), "mine", &lock, &holder, NULL), 0);
    assert_true(is_there(store_of(state), "images/.mine.lock"));
    publish_unlock(&lock);
    assert_false(is_there(store_of(state), "images/.mine.lock"));
}

static void sweeps_only_what_is_left_of_its_own_name(void **state)
{
    make_image(store_of(state), ".building-mine.abcdef", NULL);
    make_image(store_of(state), ".removing-mine.ghijkl", "{}");
    make_image(store_of(state), ".building-mine.2.abcdef", NULL);
    make_image(store_of(state), ".building-min.abcdef", NULL);
    make_image(store_of(state), "mine", "{}");
    OWNED(publish_unlock) struct publish_lock lock = PUBLISH_LOCK_NONE;
    pid_t holder;
    assert_int_equal(publish_lock(store_of(state), "mine", &lock, &holder, NULL), 0);
    assert_int_equal(publish_sweep(&lock, NULL), 0);
    assert_false(is_there(store_of(state), "images/.building-mine.abcdef"));
    assert_false(is_there(store_of(state), "images/.removing-mine.ghijkl"));
    assert_true(is_there(store_of(state), "images/.building-mine.2.abcdef"));
    assert_true(is_there(store_of(state), "images/.building-min.abcdef"));
    assert_true(is_there(store_of(state), "images/mine"));
}

static void publishes_over_a_former_image(void **state)
{
    make_image(store_of(state), "mine", "{\"summary\":\"old\"}");
    OWNED(publish_unlock) struct publish_lock lock = PUBLISH_LOCK_NONE;
    pid_t holder;
    assert_int_equal(publish_lock(store_of(state), "mine", &lock, &holder, NULL), 0);
    char aside[STORE_STAGING_MAX];
    assert_int_equal(publish_begin(&lock, aside, NULL), 0);
    char path[512];
    snprintf(path, sizeof(path), "%s/images/%s/image.json", store_of(state), aside);
    write_text(path, "{\"summary\":\"new\"}");
    assert_int_equal(publish_image(&lock, aside, NULL), 0);
    OWNED(image_release) struct image image = {0};
    assert_int_equal(image_open(store_of(state), "mine", &image, NULL), 0);
    assert_string_equal(image.summary, "new");
    snprintf(path, sizeof(path), "images/%s", aside);
    assert_false(is_there(store_of(state), path));
}

#define STORE_TEST(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_keep_to_the_rule),
        cmocka_unit_test(path_comes_from_xdg_then_home),
        STORE_TEST(absent_image_names_the_command_that_fetches_it),
        STORE_TEST(absent_image_names_the_nearest_there_is),
        STORE_TEST(reads_back_what_it_wrote),
        STORE_TEST(reads_back_the_layers_it_wrote),
        STORE_TEST(an_image_is_held_once_however_many_use_it),
        STORE_TEST(an_image_without_its_layer_tells_how_to_mend_it),
        STORE_TEST(refuses_a_damaged_record),
        STORE_TEST(damaged_image_of_the_catalog_is_fetched_again_by_its_name),
        STORE_TEST(lists_complete_images_by_name),
        STORE_TEST(removes_directories_of_mode_000),
        STORE_TEST(removes_a_damaged_image),
        STORE_TEST(lock_excludes_and_ends_with_its_process),
        STORE_TEST(lock_leaves_no_file),
        STORE_TEST(sweeps_only_what_is_left_of_its_own_name),
        STORE_TEST(publishes_over_a_former_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
