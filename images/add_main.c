#include "images/add.h"

#include "images/base/interrupt.h"
#include "images/base/url_user.h"
#include "images/store/store.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/options.h"
#include "sandbox/base/owned.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PROGRAM "code-sandbox-mcp images add"
#define EXIT_USAGE 2
#define WORDS_MAX 200
#define ORIGIN_MAX 4096

struct words {
    const char *list[WORDS_MAX + 1];
    size_t count;
};

struct add_arguments {
    const char *result;
    struct words apt, pip, npm, run;
    struct buffer origin; /* the command, for people */
};

static int apply_word(void *data, const struct option *option, const char *value,
                      struct fault *fault)
{
    struct add_arguments *arguments = data;
    struct words *words = (struct words *)((char *)data + option->offset);
    if (words->count == WORDS_MAX ||
        buffer_format(&arguments->origin, " %s %s", option->name, value) < 0)
        return fault_set(fault, E2BIG, "too much for one command");
    words->list[words->count++] = value;
    return 0;
}

#define AT(member) .offset = offsetof(struct add_arguments, member)

static const struct option options[] = {
    {"--apt", "PACKAGE", "a Debian package; the apt of this host fetches it", apply_word, AT(apt)},
    {"--pip", "REQUIREMENT", "as pip writes it: polars, 'requests==2.*'", apply_word, AT(pip)},
    {"--npm", "PACKAGE", "as npm writes it: express, lodash@4", apply_word, AT(npm)},
    {"--run", "COMMAND", "a command of /bin/sh, as root in the sandbox", apply_word, AT(run)},
    {"--as", "NEW", "keep the image, and call the result NEW", option_keep_text, AT(result)},
    {0},
};

static void help_print(void)
{
    puts(
        "Usage: " PROGRAM " NAME [--as NEW] [--apt PACKAGE]... [--pip REQUIREMENT]...\n"
        "       [--npm PACKAGE]... [--run COMMAND]...\n"
        "\n"
        "Installs into an image, with the image's own installers, in a sandbox that has the host's\n"
        "network and its settings of package indexes. What they write becomes a new layer of the\n"
        "image. If one of them fails, the image is unchanged.\n"
        "\n"
        "Options, in the order of their execution:");
    options_print(options, stdout);
    options_print_common(stdout);
}

static int usage_fault(const char *what, const char *word)
{
    fprintf(stderr, PROGRAM ": %s%s; see " PROGRAM " --help\n", what, word);
    return EXIT_USAGE;
}

static void arguments_free(struct add_arguments **arguments)
{
    if (*arguments != NULL)
        buffer_release(&(*arguments)->origin);
    free(*arguments);
}

/* Finds a package that the installer would read as an option: "--pip=-e". */
static const char *option_among(const struct add_arguments *arguments)
{
    const struct words *const all[] = {&arguments->apt, &arguments->pip, &arguments->npm};
    for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
        for (size_t j = 0; j < all[i]->count; j++)
            if (all[i]->list[j][0] == '-' || all[i]->list[j][0] == '\0')
                return all[i]->list[j];
    return NULL;
}

/* The record is for everybody, snippets' models included. NULL: no memory. */
static const char *record_of(struct add_arguments *arguments)
{
    char *command = buffer_string(&arguments->origin);
    if (command != NULL)
        url_users_remove(command);
    return command;
}

static int add(struct add_arguments *arguments, const char *name)
{
    struct fault fault = {0};
    OWNED_MEMORY char *store = NULL;
    struct addition addition = {
        .name = name,
        .result = arguments->result != NULL ? arguments->result : name,
        .origin = record_of(arguments),
        .installation = {arguments->apt.list, arguments->pip.list, arguments->npm.list,
                         arguments->run.list},
    };
    int r = store_path(&store, &fault);
    addition.store = store;
    if (r == 0)
        r = add_image(&addition, &fault);
    if (r == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, PROGRAM ": %s: %s\n", addition.result, fault.text);
    return interrupt_signal() != 0 ? 128 + interrupt_signal() : EXIT_FAILURE;
}

/* Checks the options and the one operand: 0, or the exit code for a wrong command line. */
static int arguments_check(const struct add_arguments *arguments, char **names, int count)
{
    if (count == 0)
        return usage_fault("name the image", "");
    if (count > 1)
        return usage_fault("only one image; a package needs an installer, as in --pip ", names[1]);
    const char *option = option_among(arguments);
    if (option != NULL)
        return usage_fault("not a package: ", option);
    return arguments->apt.count + arguments->pip.count + arguments->npm.count +
                       arguments->run.count ==
                   0
               ? usage_fault("say what to add: --apt, --pip, --npm or --run", "")
               : 0;
}

int add_main(int argc, char **argv, int (*prepare)(void))
{
    OWNED(arguments_free) struct add_arguments *arguments = calloc(1, sizeof(*arguments));
    if (arguments == NULL)
        return EXIT_FAILURE;
    arguments->origin = BUFFER(ORIGIN_MAX);
    if (buffer_append_text(&arguments->origin, "images add") < 0)
        return EXIT_FAILURE;
    const struct option_table tables[] = {{options, arguments}, {0}};
    struct fault fault = {0};
    int count = 0;
    int r = options_read(tables, argc - 1, argv + 1, &count, &fault);
    if (r < 0) {
        fprintf(stderr, PROGRAM ": %s\n", fault.text);
        return EXIT_USAGE;
    }
    if (r == OPTIONS_HELP)
        help_print();
    if (r == OPTIONS_VERSION)
        puts("code-sandbox-mcp " PROJECT_VERSION);
    if (r > 0)
        return EXIT_SUCCESS;
    int status = arguments_check(arguments, argv + 1, count);
    if (status == 0)
        status = prepare();
    return status != 0 ? status : add(arguments, argv[1]);
}
