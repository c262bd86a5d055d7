#include "images/add.h"

#include "images/base/interrupt.h"
#include "images/store/store.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/owned.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define PROGRAM "code-sandbox-mcp images add"
#define EXIT_USAGE 2
#define WORDS_MAX 200
#define ORIGIN_MAX 4096

static const char help[] =
    "Usage: " PROGRAM " NAME [--as NEW] [--apt PACKAGE]... [--pip REQUIREMENT]...\n"
    "       [--npm PACKAGE]... [--run COMMAND]...\n"
    "\n"
    "Installs into an image, by the installers of the image, in a sandbox with this host's network\n"
    "and its settings of package indexes. What they write becomes a layer over those of the image;\n"
    "should one fail, the image stays as it was.\n"
    "\n"
    "Options, in the order in which they are done:\n"
    "  --apt PACKAGE        a package of Debian; the apt of this host fetches it\n"
    "  --pip REQUIREMENT    as pip writes it: polars, 'requests==2.*'\n"
    "  --npm PACKAGE        as npm writes it: express, lodash@4\n"
    "  --run COMMAND        a command of /bin/sh, as the user root of the sandbox\n"
    "  --as NEW             leave the image as it is, and call the result NEW\n"
    "  --help               show this";

struct words {
    const char *list[WORDS_MAX + 1];
    size_t count;
};

struct arguments {
    const char *result;
    struct words apt, pip, npm, run;
    struct buffer origin; /* the command, for people */
    bool help, too_many;
};

static void word_add(struct arguments *arguments, struct words *words, const char *option,
                     const char *word)
{
    if (words->count == WORDS_MAX ||
        buffer_format(&arguments->origin, " --%s %s", option, word) < 0)
        arguments->too_many = true;
    else
        words->list[words->count++] = word;
}

static int usage_fault(const char *what, const char *word)
{
    fprintf(stderr, PROGRAM ": %s%s; see " PROGRAM " --help\n", what, word);
    return EXIT_USAGE;
}

/* 0, or the exit code for a wrong command line. */
static int arguments_read(int argc, char **argv, struct arguments *arguments)
{
    static const struct option options[] = {
        {"apt", required_argument, NULL, 'a'},
        {"pip", required_argument, NULL, 'p'},
        {"npm", required_argument, NULL, 'n'},
        {"run", required_argument, NULL, 'r'},
        {"as", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        switch (option) {
        case 'a':
            word_add(arguments, &arguments->apt, "apt", optarg);
            break;
        case 'p':
            word_add(arguments, &arguments->pip, "pip", optarg);
            break;
        case 'n':
            word_add(arguments, &arguments->npm, "npm", optarg);
            break;
        case 'r':
            word_add(arguments, &arguments->run, "run", optarg);
            break;
        case 's':
            arguments->result = optarg;
            break;
        case 'h':
            arguments->help = true;
            break;
        case ':':
            return usage_fault("this option needs a value: ", argv[optind - 1]);
        default:
            return usage_fault("there is no option ", argv[optind - 1]);
        }
    }
    return arguments->too_many ? usage_fault("too much for one command", "") : 0;
}

/* An option of an installer, in the place of a package, would be read as one: "--pip=-e". */
static const char *option_among(const struct arguments *arguments)
{
    const struct words *const all[] = {&arguments->apt, &arguments->pip, &arguments->npm};
    for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
        for (size_t j = 0; j < all[i]->count; j++)
            if (all[i]->list[j][0] == '-' || all[i]->list[j][0] == '\0')
                return all[i]->list[j];
    return NULL;
}

static int add(struct arguments *arguments, const char *name)
{
    struct fault fault = {0};
    OWNED_MEMORY char *store = NULL;
    struct addition addition = {
        .name = name,
        .result = arguments->result != NULL ? arguments->result : name,
        .origin = buffer_string(&arguments->origin),
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

int add_main(int argc, char **argv, int (*prepare)(void))
{
    OWNED_MEMORY struct arguments *arguments = calloc(1, sizeof(*arguments));
    if (arguments == NULL)
        return EXIT_FAILURE;
    arguments->origin = BUFFER(ORIGIN_MAX);
    int status = buffer_append_text(&arguments->origin, "images add") < 0
                     ? EXIT_FAILURE
                     : arguments_read(argc, argv, arguments);
    if (status == 0 && arguments->help) {
        puts(help);
        return EXIT_SUCCESS;
    }
    if (status == 0 && optind + 1 != argc)
        status = usage_fault(optind < argc ? "one image at a time, not also " : "name the image",
                             optind < argc ? argv[optind + 1] : "");
    const char *option = status == 0 ? option_among(arguments) : NULL;
    if (option != NULL)
        status = usage_fault("that is no package: ", option);
    if (status == 0 &&
        arguments->apt.count + arguments->pip.count + arguments->npm.count + arguments->run.count ==
            0)
        status = usage_fault("say what to add: --apt, --pip, --npm or --run", "");
    if (status == 0)
        status = prepare();
    if (status == 0)
        status = add(arguments, argv[optind]);
    buffer_release(&arguments->origin);
    return status;
}
