#include "interpreter/settings/own_paths.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings_read.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ARGUMENTS_COUNT_MAX 8

/* A configuration file of its own for each test, and an environment without any setting. */
struct place {
    char directory[64];
    char path[128];
};

static void clear_environment(void)
{
    for (const struct option *const *table = setting_tables; *table != NULL; table++)
        for (const struct option *option = *table; option->name != NULL; option++)
            if (option->setting != NULL && option->setting->variable != NULL)
                unsetenv(option->setting->variable);
}

static int place_make(void **state)
{
    static struct place place;
    strcpy(place.directory, "/tmp/test-settings-XXXXXX");
    if (mkdtemp(place.directory) == NULL)
        return -1;
    char folder[96];
    snprintf(folder, sizeof(folder), "%s/code-sandbox-mcp", place.directory);
    snprintf(place.path, sizeof(place.path), "%s/config.json", folder);
    *state = &place;
    clear_environment();
    setenv("XDG_CONFIG_HOME", place.directory, 1);
    return mkdir(folder, 0700);
}

static int place_remove(void **state)
{
    struct place *place = *state;
    unlink(place->path);
    *strrchr(place->path, '/') = '\0';
    rmdir(place->path);
    return rmdir(place->directory);
}

static void write_bytes(void **state, const char *bytes, size_t length)
{
    struct place *place = *state;
    FILE *file = fopen(place->path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void write_configuration(void **state, const char *text)
{
    write_bytes(state, text, strlen(text));
}

/* Reads the NULL-terminated command line and every other source; release the settings. */
static int read_settings(const char *const *arguments, struct settings *settings,
                         struct fault *fault)
{
    char *argv[ARGUMENTS_COUNT_MAX];
    int count = 0;
    for (; arguments[count] != NULL; count++)
        argv[count] = (char *)arguments[count];
    *settings = settings_default();
    const struct option_table tables[] = {{settings_of_runs, settings},
                                          {settings_of_many, settings},
                                          {settings_of_server, settings},
                                          {0}};
    int operands = 0;
    int r = options_read(tables, count, argv, &operands, fault);
    return r < 0 ? r : settings_read(settings, fault);
}

static void nothing_said_means_the_defaults(void **state)
{
    (void)state;
    OWNED(settings_release) struct settings settings = {0};
    assert_int_equal(read_settings((const char *const[]){NULL}, &settings, NULL), 0);
    struct run_limits limits = run_limits_default();
    assert_int_equal(settings.limits.memory_bytes, limits.memory_bytes);
    assert_int_equal(settings.limits.disk_bytes, limits.disk_bytes);
    assert_int_equal(settings.limits.processes, 256);
    assert_int_equal(settings.limits.millicpus, 4000);
    assert_int_equal(settings.limits.wall_ms, 30000);
    assert_int_equal(settings.wall_max_ms, 30000);
    assert_int_equal(settings.engine.parallel, 0);
    assert_int_equal(settings.result_format, RESULT_TEXT);
    assert_false(settings.require_cgroup || settings.no_cgroup);
    assert_null(settings.configuration_read);
}

static void default_memory_is_at_most_half_of_the_machine(void **state)
{
    (void)state;
    uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    assert_true(run_limits_default().memory_bytes <= half);
    assert_true(run_limits_default().memory_bytes <= 2 * GIBIBYTE);
}

/* One setting by each of its three ways; the text of the configuration is its value in JSON. */
static const struct {
    const char *option, *variable, *key;
    const char *text, *json;
    uint64_t expected;
    size_t offset, size;
} ways[] = {
#define MEMBER(member) offsetof(struct settings, member), sizeof(((struct settings *)NULL)->member)
    {"--memory", "SANDBOX_MEMORY", "memory", "512M", "\"512M\"", 512 * MEBIBYTE,
     MEMBER(limits.memory_bytes)},
    {"--memory", "SANDBOX_MEMORY", "memory", "16777216", "16777216", 16 * MEBIBYTE,
     MEMBER(limits.memory_bytes)},
    {"--cpus", "SANDBOX_CPUS", "cpus", "0.25", "0.25", 250, MEMBER(limits.millicpus)},
    {"--pids", "SANDBOX_PIDS", "pids", "64", "64", 64, MEMBER(limits.processes)},
    {"--timeout", "SANDBOX_TIMEOUT", "timeout", "2.5", "2.5", 2500, MEMBER(limits.wall_ms)},
    {"--timeout-max", "SANDBOX_TIMEOUT_MAX", "timeout_max", "600", "600", 600000,
     MEMBER(wall_max_ms)},
    {"--disk", "SANDBOX_DISK", "disk", "64K", "\"64k\"", 64 * KIBIBYTE, MEMBER(limits.disk_bytes)},
    {"--output", "SANDBOX_OUTPUT", "output", "2M", "\"2MiB\"", 2 * MEBIBYTE,
     MEMBER(limits.output_kept)},
    {"--parallel", "SANDBOX_PARALLEL", "parallel", "3", "3", 3, MEMBER(engine.parallel)},
    {"--result-format", "SANDBOX_RESULT_FORMAT", "result_format", "json", "\"json\"", RESULT_JSON,
     MEMBER(result_format)},
    {"--log-level", "SANDBOX_LOG_LEVEL", "log_level", "info", "\"info\"", LOG_CALLS,
     MEMBER(log.level)},
    {"--log-format", "SANDBOX_LOG_FORMAT", "log_format", "json", "\"json\"", LOG_JSON,
     MEMBER(log.format)},
    {"--require-cgroup", "SANDBOX_REQUIRE_CGROUP", "require_cgroup", "yes", "true", 1,
     MEMBER(require_cgroup)},
    {"--no-cgroup", "SANDBOX_NO_CGROUP", "no_cgroup", "1", "true", 1, MEMBER(no_cgroup)},
};

static void assert_way(size_t way, const char *const *arguments)
{
    OWNED(settings_release) struct settings settings = {0};
    struct fault fault = {0};
    if (read_settings(arguments, &settings, &fault) != 0)
        fail_msg("%s: %s", ways[way].option, fault.text);
    uint64_t number = 0; /* little-endian: a shorter member is its low bytes */
    memcpy(&number, (char *)&settings + ways[way].offset, ways[way].size);
    assert_int_equal(number, ways[way].expected);
}

static void option_variable_and_key_set_the_same(void **state)
{
    static const char *const nothing[] = {NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
        bool is_flag = ways[i].size == sizeof(bool);
        assert_way(i, (const char *const[]){ways[i].option, is_flag ? NULL : ways[i].text, NULL});
        setenv(ways[i].variable, ways[i].text, 1);
        assert_way(i, nothing);
        unsetenv(ways[i].variable);
        char text[128];
        snprintf(text, sizeof(text), "{\"%s\": %s}\n", ways[i].key, ways[i].json);
        write_configuration(state, text);
        assert_way(i, nothing);
        write_configuration(state, "{}");
    }
}

static void every_setting_has_three_names_that_follow_from_each_other(void **state)
{
    (void)state;
    for (const struct option *const *table = setting_tables; *table != NULL; table++) {
        for (const struct option *option = *table; option->name != NULL; option++) {
            if (option->setting == NULL)
                continue;
            if (option->setting->kind == SETTING_MOUNT) { /* of which the key has any number */
                assert_string_equal(option->setting->key, "mounts");
                assert_string_equal(option->setting->variable, "SANDBOX_MOUNT");
                continue;
            }
            char key[64];
            char variable[64] = "SANDBOX_";
            snprintf(key, sizeof(key), "%s", option->name + strlen("--"));
            size_t length = strlen(variable);
            for (size_t i = 0; key[i] != '\0'; i++) {
                key[i] = key[i] == '-' ? '_' : key[i];
                variable[length++] = key[i] == '_' ? '_' : (char)(key[i] - 'a' + 'A');
            }
            variable[length] = '\0';
            assert_string_equal(option->setting->key, key);
            if (option->setting->variable == NULL)
                assert_string_equal(key, "env"); /* values in one variable would need quoting */
            else if (!option->setting->is_shared_variable)
                assert_string_equal(option->setting->variable, variable);
        }
    }
}

static void the_stronger_source_counts(void **state)
{
    static const struct {
        const char *option, *variable, *configuration;
        uint64_t expected;
    } cases[] = {
        {"1M", "2M", "3M", 1}, {"1M", "2M", NULL, 1}, {"1M", NULL, "3M", 1}, {NULL, "2M", "3M", 2},
        {NULL, "", "3M", 3},   {NULL, "", NULL, 256}, {"1M", "", NULL, 1},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char text[64];
        snprintf(text, sizeof(text), cases[i].configuration != NULL ? "{\"disk\": \"%s\"}" : "{}",
                 cases[i].configuration);
        write_configuration(state, text);
        if (cases[i].variable != NULL)
            setenv("SANDBOX_DISK", cases[i].variable, 1);
        else
            unsetenv("SANDBOX_DISK");
        const char *const arguments[] = {cases[i].option != NULL ? "--disk" : NULL, cases[i].option,
                                         NULL};
        OWNED(settings_release) struct settings settings = {0};
        assert_int_equal(read_settings(arguments, &settings, NULL), 0);
        assert_int_equal(settings.limits.disk_bytes, cases[i].expected * MEBIBYTE);
    }
}

/* CONTAINER_IMAGE is of any language, so what names the language counts more. */
static void a_language_runs_on_the_image_that_is_named_for_it(void **state)
{
    static const char *const option[] = {"--python-image", "option", NULL};
    static const struct {
        bool option;
        const char *variable, *container, *key, *expected;
    } cases[] = {
        {true, "variable", "container", "key", "option"},
        {false, "variable", "container", "key", "variable"},
        {false, "", "container", "key", "container"},
        {false, "", "", "key", "key"},
        {false, "", "", NULL, "agent"},
    };
    const struct place *place = *state;
    setenv("XDG_DATA_HOME", place->directory, 1); /* an empty store */
    setenv("CONTAINER_LANGUAGE", "py", 1);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        setenv("SANDBOX_PYTHON_IMAGE", cases[i].variable, 1);
        setenv("CONTAINER_IMAGE", cases[i].container, 1);
        write_configuration(state, cases[i].key != NULL ? "{\"python_image\": \"key\"}" : "{}");
        OWNED(settings_release) struct settings settings = {0};
        assert_int_equal(read_settings(cases[i].option ? option : option + 2, &settings, NULL), 0);
        assert_string_equal(settings_image(&settings, &language_python), cases[i].expected);
        assert_string_equal(settings_image(&settings, &language_javascript), "agent");
    }
    unsetenv("CONTAINER_LANGUAGE");
    unsetenv("CONTAINER_IMAGE");
    unsetenv("XDG_DATA_HOME");
}

static void put_image(const struct place *place, const char *name)
{
    char path[256];
    static const char *const parts[] = {"code-sandbox-mcp", "images", NULL};
    size_t length = (size_t)snprintf(path, sizeof(path), "%s", place->directory);
    for (size_t i = 0; parts[i] != NULL; i++) {
        length += (size_t)snprintf(path + length, sizeof(path) - length, "/%s", parts[i]);
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    }
    length += (size_t)snprintf(path + length, sizeof(path) - length, "/%s", name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path + length, sizeof(path) - length, "/image.json");
    OWNED_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
}

static void an_image_of_its_own_counts_if_it_is_there(void **state)
{
    const struct place *place = *state;
    const struct settings settings = settings_default();
    setenv("XDG_DATA_HOME", place->directory, 1);
    put_image(place, "agent");
    assert_string_equal(settings_image(&settings, &language_javascript), "agent");
    put_image(place, "node");
    assert_string_equal(settings_image(&settings, &language_javascript), "node");
    assert_string_equal(settings_image(&settings, &language_bash), "agent");
    unsetenv("XDG_DATA_HOME");
    char path[256];
    snprintf(path, sizeof(path), "%s/code-sandbox-mcp/images", place->directory);
    assert_int_equal(tree_remove(AT_FDCWD, path), 0);
}

/* The store is an empty one. */
static void bash_is_offered_where_an_image_is_named_for_it(void **state)
{
    struct place *place = *state;
    setenv("XDG_DATA_HOME", place->directory, 1);
    for (int named = 0; named < 2; named++) {
        const char *const arguments[] = {named ? "--bash-image=mine" : NULL, NULL};
        OWNED(settings_release) struct settings settings = {0};
        assert_int_equal(read_settings(arguments, &settings, NULL), 0);
        assert_true(settings_offer(&settings, &language_python));
        assert_int_equal(settings_offer(&settings, &language_bash), named);
    }
    unsetenv("XDG_DATA_HOME");
}

static void a_variable_takes_a_flag_of_the_configuration_back(void **state)
{
    static const char *const no[] = {"0", "false", "No"};
    write_configuration(state, "{\"require_cgroup\": true}");
    for (size_t i = 0; i < ARRAY_LENGTH(no); i++) {
        setenv("SANDBOX_REQUIRE_CGROUP", no[i], 1);
        OWNED(settings_release) struct settings settings = {0};
        assert_int_equal(read_settings((const char *const[]){"--no-cgroup", NULL}, &settings, NULL),
                         0);
        assert_true(settings.no_cgroup && !settings.require_cgroup);
    }
}

static void names_to_pass_through_add_up(void **state)
{
    write_configuration(state, "{\"pass_through_env\": [\"TEST_A\", \"TEST_B\"]}");
    setenv("PASSTHROUGH_ENV", "TEST_C,TEST_A", 1);
    setenv("TEST_A", "1", 1);
    setenv("TEST_C", "3", 1);
    setenv("TEST_D", "4", 1);
    setenv("TEST_E", "", 1);
    unsetenv("TEST_B");
    static const char *const arguments[] = {"--pass-through-env", "TEST_D", "--pass-through-env",
                                            "TEST_E, TEST_D", NULL};
    OWNED(settings_release) struct settings settings = {0};
    assert_int_equal(read_settings(arguments, &settings, NULL), 0);
    static const char *const expected[] = {"TEST_A=1", "TEST_C=3", "TEST_D=4", "TEST_E="};
    const char *texts[ARGUMENTS_COUNT_MAX];
    assert_int_equal(environment_for(&settings.environment, &language_python, texts),
                     ARRAY_LENGTH(expected));
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
        assert_string_equal(texts[i], expected[i]);
}

static void assert_refused(const char *const *arguments, int error, const char *first,
                           const char *second)
{
    OWNED(settings_release) struct settings settings = {0};
    struct fault fault = {0};
    int r = read_settings(arguments, &settings, &fault);
    if (r == 0)
        r = settings_read_check_server(&settings, &fault);
    if (r != -error || strstr(fault.text, first) == NULL || strstr(fault.text, second) == NULL)
        fail_msg("%d, and \"%s\" does not have both \"%s\" and \"%s\"", r, fault.text, first,
                 second);
}

static void wrong_options_and_variables_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[4];
        const char *variable, *value; /* set meanwhile; or NULL */
        const char *first, *second;
    } cases[] = {
        {{"--memory", "15M"}, NULL, NULL, "--memory", "16 MiB to 1 TiB"},
        {{"--memory=2T"}, NULL, NULL, "--memory", "\"2T\""},
        {{"--cpus", "0"}, NULL, NULL, "--cpus", "processors from 0.01 to 1024"},
        {{"--pids", "0"}, NULL, NULL, "--pids", "1 to 32768"},
        {{"--timeout-max", "100000"}, NULL, NULL, "--timeout-max", "86400"},
        {{"--timeout-max", "10"}, NULL, NULL, "--timeout-max is 10 s", "30 s"},
        {{"--disk", "1K"}, NULL, NULL, "--disk", "64 KiB"},
        {{"--output", "65M"}, NULL, NULL, "--output", "64 MiB"},
        {{"--result-format="}, NULL, NULL, "--result-format", "text, json or structured"},
        {{"--require-cgroup", "--no-cgroup"}, NULL, NULL, "--require-cgroup", "--no-cgroup"},
        {{"--no-cgroup"}, "SANDBOX_REQUIRE_CGROUP", "1", "--require-cgroup", "--no-cgroup"},
        {{"--python-image", "docker.io/x:1"}, NULL, NULL, "--python-image", "is no image name"},
        {{NULL}, "SANDBOX_BASH_IMAGE", "-x", "SANDBOX_BASH_IMAGE", "is no image name"},
        {{NULL}, "SANDBOX_MEMORY", "lots", "SANDBOX_MEMORY", "512M"},
        {{NULL}, "SANDBOX_CPUS", "-1", "SANDBOX_CPUS", "from 0.01"},
        {{NULL}, "SANDBOX_NO_CGROUP", "maybe", "SANDBOX_NO_CGROUP", "1 or 0"},
        /* An option that counts more does not make it right. */
        {{"--pids", "5"}, "SANDBOX_PIDS", "five", "SANDBOX_PIDS", "\"five\""},
        {{"--config", "/nowhere/x.json"}, NULL, NULL, "/nowhere/x.json", "--config"},
        {{"--config", "/"}, NULL, NULL, "/", "not a regular file"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        clear_environment();
        if (cases[i].variable != NULL)
            setenv(cases[i].variable, cases[i].value, 1);
        assert_refused(cases[i].arguments,
                       strcmp(cases[i].first, "/nowhere/x.json") == 0 ? ENOENT : EINVAL,
                       cases[i].first, cases[i].second);
    }
}

static void a_wrong_configuration_is_refused_with_file_key_and_remedy(void **state)
{
    static const struct {
        const char *text;
        const char *named; /* beside the file */
    } cases[] = {
        {"", "not JSON"},
        {"{\"memory\": 5", "not JSON"},
        {"{} {}", "not JSON"},
        {"// memory\n{}", "not JSON"},
        {"[]", "one JSON object"},
        {"null", "one JSON object"},
        {"{\"memroy\": \"512M\"}", "\"memroy\": did you mean \"memory\"?"},
        {"{\"timeout-max\": 5}", "did you mean \"timeout_max\"?"},
        {"{\"Memory\": \"512M\"}", "did you mean \"memory\"?"},
        {"{\"config\": \"x\"}", "unknown key \"config\""},
        {"{\"colour\": 1}", "unknown key \"colour\": the keys are"},
        {"{\"memory\\u0000\": \"512M\"}", "unknown key"},
        {"{\"\": 1}", "unknown key \"\""},
        {"{\"memory\": \"512M\", \"pids\": 5, \"memory\": \"1G\"}", "\"memory\" appears twice"},
        {"{\"memory\": \"15M\"}", "\"memory\" in "},
        {"{\"memory\": 5}", "16 MiB to 1 TiB"},
        {"{\"memory\": 1e9}", "\"1e9\""},
        {"{\"memory\": -1}", "\"-1\""},
        {"{\"memory\": true}", "a string such as \"512M\""},
        {"{\"memory\": null}", "a string such as \"512M\""},
        {"{\"memory\": [\"512M\"]}", "a string such as \"512M\""},
        {"{\"memory\": \"512M\\u0000\"}", "a string such as \"512M\""},
        {"{\"cpus\": \"1\"}", "\"cpus\" in "},
        {"{\"pids\": 1.5}", "whole number"},
        {"{\"timeout\": true}", "a number of seconds"},
        {"{\"timeout\": \"30 s\"}", "5m or 1h"},
        {"{\"timeout\": 1e308}", "86400"},
        {"{\"result_format\": \"xml\"}", "text, json or structured"},
        {"{\"result_format\": 1}", "a string"},
        {"{\"python_image\": 1}", "the name of an image"},
        {"{\"node_image\": \"x\"}", "unknown key \"node_image\""},
        {"{\"no_cgroup\": 1}", "true or false"},
        {"{\"no_cgroup\": \"true\"}", "true or false"},
        {"{\"no_cgroup\": true, \"require_cgroup\": true}", "cannot be combined"},
        {"{\"pass_through_env\": \"LANG\"}", "an array of names"},
        {"{\"pass_through_env\": [1]}", "an array of names"},
        {"{\"pass_through_env\": [\"A,B\"]}", "\"A,B\" is not a variable name"},
        {"{\"pass_through_env\": [\"A\\u0000\"]}", "is not a variable name"},
        {"{\"pass_through_env\": [\"\"]}", "is not a variable name"},
        {"{\"env\": [\"A=1\"]}", "an object with a string for each name"},
        {"{\"env\": {\"A\": 1}}", "an object with a string for each name"},
        {"{\"env\": {\"A\": \"1\", \"A\": \"2\"}}", "a name twice"},
        {"{\"env\": {\"A=1\": \"2\"}}", "a name with a ="},
        {"{\"env\": {\"A B\": \"1\"}}", "letters, digits and _"},
        {"{\"env\": {\"A\\u0000\": \"1\"}}", "letters, digits and _"},
        {"{\"env\": {\"A\": \"1\\u0000\"}}", "a NUL byte"},
        {"{\"env\": {\"pyhton:A\": \"1\"}}", "did you mean python?"},
        {"{\"env_file\": {}}", "a path, or an array of paths"},
        {"{\"env_file\": [1]}", "a path, or an array of paths"},
        {"{\"env_file\": \"/\"}", "not a regular file"},
        {"{\"timeout\": 60, \"timeout_max\": 30}", "--timeout-max is 30 s"},
    };
    struct place *place = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        write_configuration(state, cases[i].text);
        /* Faults about two settings at once name no file. */
        bool is_pair = strstr(cases[i].named, "cannot be combined") != NULL ||
                       strstr(cases[i].named, "--timeout-max") != NULL;
        assert_refused((const char *const[]){NULL}, EINVAL, is_pair ? "" : place->path,
                       cases[i].named);
    }
}

static void a_configuration_has_a_bounded_size(void **state)
{
    static char text[65537];
    memset(text, ' ', sizeof(text));
    memcpy(text, "{}", 2);
    OWNED(settings_release) struct settings settings = {0};
    write_bytes(state, text, sizeof(text) - 1);
    assert_int_equal(read_settings((const char *const[]){NULL}, &settings, NULL), 0);
    write_bytes(state, text, sizeof(text));
    assert_refused((const char *const[]){NULL}, EINVAL, "longer than 64 KiB", "");
}

static void a_configuration_that_is_no_file_is_not_waited_for(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_refused((const char *const[]){NULL}, EINVAL, place->path, "not a regular file");
}

static void a_named_configuration_is_read_instead(void **state)
{
    struct place *place = *state;
    char other[160];
    snprintf(other, sizeof(other), "%s/other.json", place->directory);
    write_configuration(state, "{\"pids\": 7}");
    assert_int_equal(rename(place->path, other), 0);
    write_configuration(state, "{\"disk\": \"1M\", \"nonsense\": 1}");
    OWNED(settings_release) struct settings settings = {0};
    assert_int_equal(read_settings((const char *const[]){"--config", other, NULL}, &settings, NULL),
                     0);
    unlink(other);
    assert_int_equal(settings.limits.processes, 7);
    assert_int_equal(settings.limits.disk_bytes, RUN_DISK_DEFAULT);
    assert_string_equal(settings.configuration_read, other);
}

/* The path is the same; a snippet of another server has put a link in its place since it was checked. */
static void a_file_that_was_opened_by_a_late_link_is_refused(void **state)
{
    const struct place *place = *state;
    struct settings settings = settings_default();
    struct folder folder = {.fd = -1, .place = (char *)"/rw", .mode = FOLDER_WRITABLE};
    struct fault fault = {0};
    char given[192];
    OWNED_MEMORY char *real = realpath(place->directory, NULL);
    snprintf(given, sizeof(given), "%s/code-sandbox-mcp", real);
    folder.path = strdup(given);
    assert_non_null(folder.path);
    settings.folders = (struct folders){.list = &folder, .count = 1};
    snprintf(given, sizeof(given), "%s/config.json", folder.path);
    write_bytes(state, "{}", 2);
    OWNED_FD int inside = open(given, O_RDONLY | O_CLOEXEC);
    OWNED_FD int outside = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    assert_int_equal(own_paths_check_given(&settings, given, &fault), 0);
    assert_int_equal(own_paths_check_opened(&settings, given, inside, &fault), 0);
    assert_int_equal(own_paths_check_opened(&settings, given, outside, &fault), -EPERM);
    assert_non_null(strstr(fault.text, "leads out of"));
    assert_int_equal(own_paths_check_opened(&settings, "/etc/passwd", outside, &fault), 0);
    folder.mode = FOLDER_READ_ONLY;
    assert_int_equal(own_paths_check_opened(&settings, given, outside, &fault), 0);
    settings.folders = (struct folders){0};
    settings_release(&settings);
    free(folder.path);
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACED(nothing_said_means_the_defaults),
        PLACED(default_memory_is_at_most_half_of_the_machine),
        PLACED(option_variable_and_key_set_the_same),
        PLACED(every_setting_has_three_names_that_follow_from_each_other),
        PLACED(the_stronger_source_counts),
        PLACED(a_language_runs_on_the_image_that_is_named_for_it),
        PLACED(an_image_of_its_own_counts_if_it_is_there),
        PLACED(bash_is_offered_where_an_image_is_named_for_it),
        PLACED(a_variable_takes_a_flag_of_the_configuration_back),
        PLACED(names_to_pass_through_add_up),
        PLACED(wrong_options_and_variables_are_named),
        PLACED(a_wrong_configuration_is_refused_with_file_key_and_remedy),
        PLACED(a_configuration_has_a_bounded_size),
        PLACED(a_configuration_that_is_no_file_is_not_waited_for),
        PLACED(a_named_configuration_is_read_instead),
        PLACED(a_file_that_was_opened_by_a_late_link_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
