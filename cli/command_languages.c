#include "cli/command.h"
#include "images/store/store.h"
#include "interpreter/base/log.h"
#include "interpreter/languages/language.h"
#include "interpreter/settings/settings_read.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX_BYTES (1 << 20)

struct languages_options {
    bool as_json;
};

static const struct option own_options[] = {
    {"--json", NULL, "list: print one JSON array", option_set_flag,
     .offset = offsetof(struct languages_options, as_json)},
    {0},
};

static bool is_fetched(const struct settings *settings, const struct language *language)
{
    OWNED_MEMORY char *store = NULL;
    return store_path(&store, NULL) == 0 &&
           image_is_there(store, settings_image(settings, language));
}

static const char *origin_of(const struct language *language)
{
    for (const struct language_file *const *file = language_files(); *file != NULL; file++)
        if (strcmp((*file)->name, language->name) == 0)
            return (*file)->origin;
    return NULL;
}

static void print_words(const struct settings *settings)
{
    for (size_t i = 0; i < language_count; i++) {
        const char *origin = origin_of(languages[i]);
        bool is_there = is_fetched(settings, languages[i]);
        printf("%-12s %-16s ", languages[i]->name, languages[i]->title);
        if (is_there)
            printf("image %s", settings_image(settings, languages[i]));
        else
            printf("not fetched: code-sandbox-mcp fetch %s", languages[i]->image);
        printf("%s%s%s\n", origin != NULL ? " (" : "", origin != NULL ? origin : "",
               origin != NULL ? ")" : "");
    }
}

static void write_language(struct json_writer *writer, const struct settings *settings,
                           const struct language *language)
{
    json_begin_object(writer);
    json_text_member(writer, "name", language->name);
    json_text_member(writer, "title", language->title);
    json_text_member(writer, "image", settings_image(settings, language));
    json_boolean_member(writer, "is_fetched", is_fetched(settings, language));
    json_text_member(writer, "file", language->code_name);
    json_text_member(writer, "origin", origin_of(language));
    json_end_object(writer);
}

static int print_json(const struct settings *settings)
{
    OWNED(buffer_release) struct buffer text = BUFFER(TEXT_MAX_BYTES);
    struct json_writer *writer;
    int r = json_writer_open(&text, &writer);
    if (r < 0)
        return r;
    json_begin_array(writer);
    for (size_t i = 0; i < language_count; i++)
        write_language(writer, settings, languages[i]);
    json_end_array(writer);
    r = json_writer_close(writer);
    const char *json = r == 0 ? buffer_string(&text) : NULL;
    if (json == NULL)
        return r < 0 ? r : -ENOMEM;
    puts(json);
    return 0;
}

static int list(const struct command *command, const struct languages_options *options)
{
    OWNED(settings_release) struct settings settings = settings_default();
    struct fault fault = {0};
    int r = settings_read(&settings, &fault); /* images that are set for languages */
    if (r < 0)
        return command_refuse(command, &fault);
    if (options->as_json)
        r = print_json(&settings);
    else
        print_words(&settings);
    if (r == 0)
        return EXIT_DONE;
    log_note("out of memory for the languages");
    return EXIT_FAILED;
}

/* Those of the person have been read before this command: one that is wrong would have been told. */
static int check(int count, char **paths)
{
    int status = EXIT_DONE;
    for (int i = 0; i < count; i++) {
        struct fault fault = {0};
        if (language_file_try(paths[i], language_check_names, &fault) == 0) {
            printf("%s: right\n", paths[i]);
        } else {
            log_note("%s", fault.text);
            status = EXIT_FAILED;
        }
    }
    if (count == 0)
        puts("All language files are right.");
    return status;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct languages_options options = {0};
    void *const data[] = {&options};
    struct fault fault = {0};
    int operands = 0;
    int status;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    if (operands == 0 || (operands == 1 && strcmp(argv[0], "list") == 0))
        return list(command, &options);
    if (strcmp(argv[0], "check") == 0)
        return check(operands - 1, argv + 1);
    fault_set(&fault, EINVAL, "\"%.*s\" is not list or check", command_shown_length(argv[0]),
              argv[0]);
    return command_refuse(command, &fault);
}

static const struct option *const tables[] = {own_options, NULL};

const struct command command_languages = {
    .name = "languages",
    .usage = "languages [list [--json] | check [FILE...]]",
    .summary = "list languages, check files of your own",
    .help =
        "Lists all languages, and the image of each or how to fetch it. check reads files of languages, by\n"
        "default those in ~/.config/code-sandbox-mcp/languages, and says what is wrong with them.\n",
    .options = tables,
    .run = run,
};
