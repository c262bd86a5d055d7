#include "sandbox/jail/plan.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/rlimits.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* A root file system with /usr/bin/tool, and two links to programs that lead out of it. */
static char root[] = "/tmp/test-plan-XXXXXX";

static void make_path(char *path, size_t size, const char *name)
{
    assert_true((size_t)snprintf(path, size, "%s/%s", root, name) < size);
}

static int root_make(void **state)
{
    (void)state;
    char path[128];
    if (mkdtemp(root) == NULL)
        return -1;
    static const char *const directories[] = {"usr", "usr/bin", "bin"};
    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
        make_path(path, sizeof(path), directories[i]);
        if (mkdir(path, 0755) < 0)
            return -1;
    }
    make_path(path, sizeof(path), "usr/bin/tool");
    int fd = open(path, O_CREAT | O_WRONLY, 0755);
    close(fd);
    make_path(path, sizeof(path), "usr/bin/text");
    fd = open(path, O_CREAT | O_WRONLY, 0644);
    close(fd);
    make_path(path, sizeof(path), "usr/bin/inside");
    if (symlink("/usr/bin/tool", path) < 0)
        return -1;
    make_path(path, sizeof(path), "usr/bin/outside");
    return symlink("../../../../../../../../bin/sh", path);
}

static int root_remove(void **state)
{
    (void)state;
    static const char *const names[] = {"usr/bin/tool",
                                        "usr/bin/text",
                                        "usr/bin/inside",
                                        "usr/bin/outside",
                                        "usr/bin",
                                        "usr",
                                        "bin",
                                        ""};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        char path[128];
        make_path(path, sizeof(path), names[i]);
        remove(path);
    }
    return 0;
}

static void plan_release(struct plan **plan)
{
    plan_free(*plan);
}

static int build(const struct run_spec *spec, struct plan **ret_plan, struct fault *fault)
{
    const struct jail_host host = {.last_capability = 40};
    const struct plan_inputs inputs = {spec, &host};
    return plan_build(&inputs, ret_plan, fault);
}

static struct run_spec spec_for(const char *const *argv)
{
    return (struct run_spec){
        .image = "test",
        .rootfs = root,
        .argv = argv,
        .code_name = "main.py",
        .limits = run_limits_default(),
    };
}

static void finds_the_program_and_follows_links_inside_only(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *found; /* NULL: refused */
    } table[] = {
        {"tool", "/usr/bin/tool"},
        {"inside", "/usr/bin/inside"},
        {"/usr/bin/tool", "/usr/bin/tool"},
        {"text", NULL},
        {"outside", NULL},
        {"absent", NULL},
        {"/bin/sh", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        const char *const argv[] = {table[i].name, "argument", NULL};
        struct run_spec spec = spec_for(argv);
        struct fault fault = {0};
        OWNED(plan_release) struct plan *plan = NULL;
        int r = build(&spec, &plan, &fault);
        if (table[i].found == NULL) {
            assert_true(r < 0);
            assert_non_null(strstr(fault.text, table[i].name));
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(plan_jail(plan)->argv[0], table[i].found);
        assert_string_equal(plan_jail(plan)->argv[1], "argument");
        assert_null(plan_jail(plan)->argv[2]);
    }
}

static void layers_are_mounted_from_the_top_and_the_program_is_looked_for_in_all(void **state)
{
    (void)state;
    static const char *const argv[] = {"tool", "argument", NULL};
    static const char *const layers[] = {"bottom/tree", "middle/tree", "top/tree", NULL};
    struct run_spec spec = spec_for(argv);
    spec.layers = layers;
    OWNED(plan_release) struct plan *plan = NULL;
    assert_int_equal(build(&spec, &plan, NULL), 0);
    const struct jail_plan *jail = plan_jail(plan);
    assert_string_equal(jail->root_layers, "userxattr,lowerdir=top/tree:middle/tree:bottom/tree");
    assert_string_equal(jail->programs[0], "/usr/local/sbin/tool");
    assert_string_equal(jail->programs[5], "/bin/tool");
    assert_null(jail->programs[6]);
    assert_string_equal(jail->argv[0], "tool");
    assert_string_equal(jail->argv[1], "argument");
}

static void folders_keep_their_order_and_only_overlays_may_be_written(void **state)
{
    (void)state;
    static const char *const argv[] = {"tool", NULL};
    static char paths[][16] = {"/src", "/data", "/tmp/x"};
    struct folder list[] = {
        {.path = paths[0], .place = paths[0], .mode = FOLDER_OVERLAY, .device = 1, .inode = 2},
        {.path = paths[0], .place = paths[1], .mode = FOLDER_READ_ONLY, .place_is_given = true},
        {.path = paths[2], .place = paths[2], .mode = FOLDER_READ_ONLY},
    };
    const struct folders folders = {list, ARRAY_LENGTH(list)};
    struct run_spec spec = spec_for(argv);
    OWNED(plan_release) struct plan *without = NULL;
    OWNED(plan_release) struct plan *with = NULL;
    OWNED(plan_release) struct plan *again = NULL;
    assert_int_equal(build(&spec, &without, NULL), 0);
    spec.folders = &folders;
    assert_int_equal(build(&spec, &with, NULL), 0);
    assert_int_equal(build(&spec, &again, NULL), 0);
    const struct jail_plan *jail = plan_jail(with);
    assert_int_equal(jail->folder_count, 3);
    assert_string_equal(jail->folders[0].path, "/src");
    assert_int_equal(jail->folders[0].inode, 2);
    assert_false(jail->folders[0].may_cover || jail->folders[0].is_in_scratch);
    assert_true(jail->folders[1].may_cover && !jail->folders[1].is_in_scratch);
    assert_true(jail->folders[2].is_in_scratch);
    size_t count = plan_jail(without)->path_rights_count;
    assert_int_equal(jail->path_rights_count, count + 1);
    assert_string_equal(jail->path_rights[count].path, "/src");
    assert_int_equal(jail->path_rights[count].rights, RIGHTS_KEEP_FILES);
    assert_true(plan_is_same(with, again));
    assert_false(plan_is_same(with, without));
}

static void layers_of_strange_names_and_too_many_are_refused(void **state)
{
    (void)state;
    static const char *const argv[] = {"tool", NULL};
    static const char *const bad[] = {"", "/etc", "a:b", "a,upperdir=b", "a\\b"};
    struct run_spec spec = spec_for(argv);
    OWNED(plan_release) struct plan *plan = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        const char *const layers[] = {"a", bad[i], NULL};
        spec.layers = layers;
        assert_int_equal(build(&spec, &plan, NULL), -EINVAL);
    }
    const char *many[202] = {NULL};
    for (size_t i = 0; i < 201; i++)
        many[i] = "abcdefghijklmnop/tree";
    spec.layers = many;
    assert_int_equal(build(&spec, &plan, NULL), -E2BIG);
}

static void links_may_not_leave_the_home_directory(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     "/etc/x", "..",   "../x", "a/../x",
                                      "a/..", "./x",    "a//x", "a/",   "."};
    static const char *const good[] = {"x", ".cache/x", "a/b/c", "..x", "a/...", ".x/..y"};
    const char *const argv[] = {"tool", NULL};
    struct run_spec spec = spec_for(argv);
    spec.home_link_count = 1;
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        const struct home_link link = {bad[i], "/usr/share/x"};
        spec.home_links = &link;
        struct fault fault = {0};
        OWNED(plan_release) struct plan *plan = NULL;
        assert_int_equal(build(&spec, &plan, &fault), -EINVAL);
        assert_non_null(strstr(fault.text, "relative path"));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        const struct home_link link = {good[i], "/usr/share/x"};
        spec.home_links = &link;
        struct fault fault = {0};
        OWNED(plan_release) struct plan *plan = NULL;
        assert_int_equal(build(&spec, &plan, &fault), 0);
        assert_string_equal(plan_jail(plan)->home_links[0].path, good[i]);
    }
}

static const char *variable(const struct plan *plan, const char *name)
{
    size_t length = strlen(name);
    for (char *const *at = plan_jail((struct plan *)plan)->environment; *at != NULL; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    }
    return NULL;
}

static void later_variables_replace_earlier_ones(void **state)
{
    (void)state;
    const char *const argv[] = {"tool", NULL};
    const char *const environment[] = {"HOME=/elsewhere", "KEY=1", "KEY=2", "HOMELY=x", NULL};
    struct run_spec spec = spec_for(argv);
    spec.environment = environment;
    struct fault fault = {0};
    OWNED(plan_release) struct plan *plan = NULL;
    assert_int_equal(build(&spec, &plan, &fault), 0);
    assert_string_equal(variable(plan, "HOME"), "/elsewhere");
    assert_string_equal(variable(plan, "KEY"), "2");
    assert_string_equal(variable(plan, "HOMELY"), "x");
    assert_string_equal(variable(plan, "USER"), "sandbox");
}

static void limits_become_rlimits_and_tmpfs_options(void **state)
{
    (void)state;
    const char *const argv[] = {"tool", NULL};
    struct run_spec spec = spec_for(argv);
    spec.limits.processes = 1234; /* less than the kernel allows on a small machine */
    spec.limits.disk_bytes = 67890;
    spec.limits.inodes = 11;
    struct fault fault = {0};
    OWNED(plan_release) struct plan *plan = NULL;
    assert_int_equal(build(&spec, &plan, &fault), 0);
    const struct jail_plan *jail = plan_jail(plan);
    assert_string_equal(jail->scratch_size, "67890");
    assert_string_equal(jail->scratch_inodes, "11");
    bool seen = false;
    for (size_t i = 0; i < jail->rlimit_count; i++) {
        if (jail->rlimits[i].resource == RLIMIT_NPROC) {
            assert_int_equal(jail->rlimits[i].limit, 1234 + 2); /* init, and one too many */
            seen = true;
        }
    }
    assert_true(seen);
}

static void files_of_prewarmed_sandboxes_come_last(void **state)
{
    (void)state;
    static const struct home_file files[] = {{"a/always", "one", 3, false},
                                             {"ahead", "two", 3, true}};
    const char *const argv[] = {"tool", NULL};
    struct run_spec spec = spec_for(argv);
    spec.home_files = files;
    spec.home_file_count = ARRAY_LENGTH(files);
    OWNED(plan_release) struct plan *cold = NULL;
    OWNED(plan_release) struct plan *warm = NULL;
    assert_int_equal(build(&spec, &cold, NULL), 0);
    assert_int_equal(build(&spec, &warm, NULL), 0);
    plan_make_warm(warm);
    assert_int_equal(plan_jail(cold)->home_file_count, 1);
    assert_string_equal(plan_jail(cold)->home_files[0].path, "a/always");
    assert_int_equal(plan_jail(cold)->home_files[0].length, 3);
    assert_memory_equal(plan_jail(cold)->home_files[0].bytes, "one", 3);
    assert_int_equal(plan_jail(warm)->home_file_count, 2);
    assert_string_equal(plan_jail(warm)->home_files[1].path, "ahead");
    assert_true(plan_is_same(cold, warm)); /* one is a template of the other */
}

/* Each change to what a snippet could notice must make another kind of jail. */
static void plans_are_the_same_but_for_the_code_and_its_time(void **state)
{
    (void)state;
    static const char *const argv[] = {"tool", "argument", NULL};
    static const char *const other_argv[] = {"tool", "other", NULL};
    static const char *const longer_argv[] = {"tool", "argument", "more", NULL};
    static const char *const environment[] = {"NAME=value", NULL};
    static const char *const layers[] = {"bottom/tree", "top/tree", NULL};
    static const struct home_link link = {"path", "/target"};
    static const struct home_file file = {"path", "text", 4, true};
    static const struct home_file other_file = {"path", "tent", 4, true};
    static const struct home_file executable = {"path", "text", 4, true, false, true};
    struct run_spec specs[20];
    for (size_t i = 0; i < ARRAY_LENGTH(specs); i++) {
        specs[i] = spec_for(argv);
        specs[i].wall_max_ms = 60000;
    }
    static const char *const arguments[] = {"more", NULL};
    static const struct run_input input = {"name", "bytes", 5};
    specs[0].limits.wall_ms = 5000; /* the same, as the next two */
    specs[12].inputs = &input;
    specs[12].input_count = 1;
    specs[13].code = "code";
    specs[1].image = "other";
    specs[2].argv = other_argv;
    specs[3].argv = longer_argv;
    specs[4].environment = environment;
    specs[5].layers = layers;
    specs[6].home_links = &link;
    specs[6].home_link_count = 1;
    specs[7].code_name = "main.js";
    specs[8].limits.disk_bytes /= 2;
    specs[9].wall_max_ms = 120000;
    specs[10].home_files = &file;
    specs[10].home_file_count = 1;
    specs[11].home_files = &other_file;
    specs[11].home_file_count = 1;
    specs[14].arguments = arguments;
    specs[15].stdin_source.kind = STDIN_BYTES;
    specs[16].stdin_source.kind = STDIN_DESCRIPTOR;
    specs[17].joins_output = true;
    specs[18].directory = "/data";
    specs[19].home_files = &executable;
    specs[19].home_file_count = 1;
    struct run_spec spec = spec_for(argv);
    spec.wall_max_ms = 60000;
    struct fault fault = {0};
    OWNED(plan_release) struct plan *plan = NULL;
    assert_int_equal(build(&spec, &plan, &fault), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(specs); i++) {
        OWNED(plan_release) struct plan *other = NULL;
        assert_int_equal(build(&specs[i], &other, &fault), 0);
        bool same = i == 0 || i == 12 || i == 13;
        if (plan_is_same(plan, other) != same || plan_is_same(other, plan) != same)
            fail_msg("%zu", i);
    }
    OWNED(plan_release) struct plan *file_plan = NULL, *executable_plan = NULL;
    assert_int_equal(build(&specs[10], &file_plan, &fault), 0);
    assert_int_equal(build(&specs[19], &executable_plan, &fault), 0);
    assert_false(plan_is_same(file_plan, executable_plan));
    OWNED(plan_release) struct plan *bytes = NULL, *descriptor = NULL;
    assert_int_equal(build(&specs[15], &bytes, &fault), 0);
    assert_int_equal(build(&specs[16], &descriptor, &fault), 0);
    assert_true(plan_is_same(bytes, descriptor));
}

static void arguments_follow_those_of_the_language(void **state)
{
    (void)state;
    const char *const argv[] = {"tool", "main.py", NULL};
    const char *const arguments[] = {"a", "", "--json", NULL};
    struct run_spec spec = spec_for(argv);
    spec.arguments = arguments;
    OWNED(plan_release) struct plan *plan = NULL;
    assert_int_equal(build(&spec, &plan, NULL), 0);
    static const char *const expected[] = {"/usr/bin/tool", "main.py", "a", "", "--json"};
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
        assert_string_equal(plan_jail(plan)->argv[i], expected[i]);
    assert_null(plan_jail(plan)->argv[ARRAY_LENGTH(expected)]);
}

static void too_many_arguments_are_refused(void **state)
{
    (void)state;
    static const char *arguments[ARGUMENTS_MAX + 1];
    for (size_t i = 0; i < ARGUMENTS_MAX; i++)
        arguments[i] = "x";
    const char *const argv[] = {"tool", NULL};
    struct run_spec spec = spec_for(argv);
    spec.arguments = arguments;
    struct fault fault = {0};
    OWNED(plan_release) struct plan *plan = NULL;
    assert_int_equal(build(&spec, &plan, &fault), -E2BIG);
    assert_non_null(strstr(fault.text, "65536"));
    arguments[ARGUMENTS_MAX - 1] = NULL;
    assert_int_equal(build(&spec, &plan, NULL), 0);
}

static void an_absent_root_is_named(void **state)
{
    (void)state;
    const char *const argv[] = {"tool", NULL};
    struct run_spec spec = spec_for(argv);
    spec.rootfs = "/nonexistent/rootfs";
    struct fault fault = {0};
    OWNED(plan_release) struct plan *plan = NULL;
    assert_int_equal(build(&spec, &plan, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "/nonexistent/rootfs"));
}

static struct plan_rlimit rlimit_of(const struct jail_plan *jail, int resource)
{
    for (size_t i = 0; i < jail->rlimit_count; i++)
        if (jail->rlimits[i].resource == resource)
            return jail->rlimits[i];
    fail_msg("no limit of resource %d", resource);
    return (struct plan_rlimit){0};
}

static void a_session_is_a_plan_of_its_own_without_a_limit_of_its_life(void **state)
{
    (void)state;
    static const char *const argv[] = {"tool", NULL};
    struct run_spec spec = spec_for(argv);
    OWNED(plan_release) struct plan *run = NULL;
    OWNED(plan_release) struct plan *session = NULL;
    OWNED(plan_release) struct plan *again = NULL;
    assert_int_equal(build(&spec, &run, NULL), 0);
    spec.session = SESSION_LIVE;
    assert_int_equal(build(&spec, &session, NULL), 0);
    assert_int_equal(build(&spec, &again, NULL), 0);
    assert_true(rlimit_of(plan_jail(run), RLIMIT_CPU).limit < RLIM_INFINITY);
    assert_true(rlimit_of(plan_jail(session), RLIMIT_CPU).limit == rlimit_hard(RLIMIT_CPU));
    assert_true(rlimit_of(plan_jail(session), RLIMIT_DATA).limit > 0);
    const struct plan_rlimit stack = rlimit_of(plan_jail(run), RLIMIT_STACK);
    assert_true(stack.limit <= RUN_STACK && stack.hard == rlimit_hard(RLIMIT_STACK));
    assert_true(plan_jail(session)->has_stdin);
    assert_true(plan_is_same(session, again));
    assert_false(plan_is_same(run, session));
    assert_false(plan_is_same(session, run));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_program_and_follows_links_inside_only),
        cmocka_unit_test(layers_are_mounted_from_the_top_and_the_program_is_looked_for_in_all),
        cmocka_unit_test(folders_keep_their_order_and_only_overlays_may_be_written),
        cmocka_unit_test(layers_of_strange_names_and_too_many_are_refused),
        cmocka_unit_test(links_may_not_leave_the_home_directory),
        cmocka_unit_test(later_variables_replace_earlier_ones),
        cmocka_unit_test(limits_become_rlimits_and_tmpfs_options),
        cmocka_unit_test(files_of_prewarmed_sandboxes_come_last),
        cmocka_unit_test(plans_are_the_same_but_for_the_code_and_its_time),
        cmocka_unit_test(arguments_follow_those_of_the_language),
        cmocka_unit_test(too_many_arguments_are_refused),
        cmocka_unit_test(an_absent_root_is_named),
        cmocka_unit_test(a_session_is_a_plan_of_its_own_without_a_limit_of_its_life),
    };
    return cmocka_run_group_tests(tests, root_make, root_remove);
}
