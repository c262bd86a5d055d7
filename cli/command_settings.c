#include "cli/command.h"
#include "interpreter/base/log.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/setting_text.h"
#include "interpreter/settings/settings_read.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TEXT_MAX_BYTES (1 << 20)
#define NAME_COLUMN (-20)
#define VALUE_COLUMN (-24)

struct settings_options {
    bool as_json, all;
};

static const struct option own_options[] = {
    {"--all", NULL, "also settings that have their default", option_set_flag,
     .offset = offsetof(struct settings_options, all)},
    {"--json", NULL, "print one JSON array", option_set_flag,
     .offset = offsetof(struct settings_options, as_json)},
    {0},
};

/* Called for each setting that is to be told; 0 or a negative errno. */
typedef int (*setting_teller)(const struct option *option, const char *value, const char *origin,
                              void *data);

static int tell_in_words(const struct option *option, const char *value, const char *origin,
                         void *data)
{
    (void)data;
    printf("%*s %*s %s\n", NAME_COLUMN, option->name + 2, VALUE_COLUMN, value, origin);
    return 0;
}

static int tell_in_json(const struct option *option, const char *value, const char *origin,
                        void *data)
{
    struct json_writer *writer = data;
    json_begin_object(writer);
    json_text_member(writer, "option", option->name);
    json_text_member(writer, "variable", option->setting->variable);
    json_text_member(writer, "key", option->setting->key);
    json_text_member(writer, "value", value);
    json_text_member(writer, "origin", origin);
    json_end_object(writer);
    return 0;
}

static int tell_setting(const struct settings *settings, const struct option *option,
                        setting_teller tell, void *data)
{
    OWNED(buffer_release) struct buffer value = BUFFER(TEXT_MAX_BYTES);
    OWNED(buffer_release) struct buffer origin = BUFFER(TEXT_MAX_BYTES);
    int r = setting_write(settings, option->setting, &value);
    if (r == 0)
        r = setting_write_origin(settings, option, &origin);
    const char *told = r == 0 ? buffer_string(&value) : NULL;
    const char *from = r == 0 ? buffer_string(&origin) : NULL;
    if (told == NULL || from == NULL)
        return r < 0 ? r : -ENOMEM;
    return tell(option, told, from, data);
}

static int tell_each(const struct settings *settings, bool all, setting_teller tell, void *data)
{
    int r = 0;
    for (const struct option *const *table = setting_tables; *table != NULL; table++)
        for (const struct option *option = *table; r == 0 && option->name != NULL; option++)
            if (option->setting != NULL &&
                (all || origins_of(&settings->origins, option) != ORIGIN_DEFAULT))
                r = tell_setting(settings, option, tell, data);
    return r;
}

static int print_words(const struct settings *settings, bool all)
{
    printf("Configuration: %s\n",
           settings->configuration_read != NULL ? settings->configuration_read : "none was found");
    if (settings->origins.count == 0 && !all)
        puts("Each setting has its default; --all lists them.");
    return tell_each(settings, all, tell_in_words, NULL);
}

static int print_json(const struct settings *settings, bool all)
{
    OWNED(buffer_release) struct buffer text = BUFFER(TEXT_MAX_BYTES);
    struct json_writer *writer;
    int r = json_writer_open(&text, &writer);
    if (r < 0)
        return r;
    json_begin_array(writer);
    r = tell_each(settings, all, tell_in_json, writer);
    json_end_array(writer);
    int closed = json_writer_close(writer);
    const char *json = r == 0 && closed == 0 ? buffer_string(&text) : NULL;
    if (json == NULL)
        return r < 0 ? r : -ENOMEM;
    puts(json);
    return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
    OWNED(settings_release) struct settings settings = settings_default();
    struct settings_options options = {0};
    void *const data[] = {&options, &settings, &settings, &settings, &settings, &settings};
    struct fault fault = {0};
    int operands = 0;
    int status;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    int r = 0;
    if (operands > 0)
        r = fault_set(&fault, EINVAL, "\"%.*s\" is not expected here",
                      command_shown_length(argv[0]), argv[0]);
    if (r == 0)
        r = settings_read(&settings, &fault);
    if (r < 0)
        return command_refuse(command, &fault);
    r = options.as_json ? print_json(&settings, options.all) : print_words(&settings, options.all);
    if (r == 0)
        return EXIT_DONE;
    log_note("out of memory for the settings");
    return EXIT_FAILED;
}

static const struct option *const tables[] = {own_options, SETTINGS_OF_ALL, NULL};

const struct command command_settings = {
    .name = "settings",
    .usage = "settings [--all] [--json] [OPTION...]",
    .summary = "print what is set, and by which option, variable or key",
    .help =
        "Prints each setting that is not the default, its value, and what sets it: an option of this\n"
        "command line, a variable, or a key of the configuration file. Takes the options of the\n"
        "server. Values of variables for snippets and logins in URLs are not shown.\n",
    .options = tables,
    .run = run,
};
