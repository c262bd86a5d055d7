#include "cli/clients.h"
#include "cli/command.h"
#include "cli/image_process.h"
#include "images/store/catalog.h"
#include "images/store/store.h"
#include "interpreter/base/log.h"
#include "interpreter/languages/language.h"
#include "sandbox/base/owned.h"
#include "sandbox/host_probe.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NAMES_MAX 16
#define SEPARATORS " ,\t\n"

struct setup_options {
    bool is_agreed; /* to the usual image: nothing is asked */
};

static const struct option own_options[] = {
    {"--yes", NULL, "fetch the image agent if it is needed, without a\nquestion", option_set_flag,
     .offset = offsetof(struct setup_options, is_agreed)},
    {0},
};

static bool is_fetched(const char *image)
{
    OWNED_MEMORY char *store = NULL;
    OWNED(image_release) struct image found = {0};
    return store_path(&store, NULL) == 0 && image_open(store, image, &found, NULL) == 0;
}

/* Images that are to be fetched; borrowed. */
struct wishes {
    char *names[NAMES_MAX];
    size_t count;
};

/* The one for all languages, unless they have what they need. */
static void wish_usual(struct wishes *wishes)
{
    bool is_missing = false;
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        is_missing |= !languages[i]->optional && !is_fetched(languages[i]->image);
    if (is_missing && !is_fetched(AGENT_IMAGE))
        wishes->names[wishes->count++] = (char *)AGENT_IMAGE;
}

static void print_choice(void)
{
    size_t count;
    const struct recipe *recipes = recipe_list(&count);
    puts("Snippets run on images:");
    for (size_t i = 0; i < count; i++)
        options_print_words(
            recipes[i].summary,
            printf("  %-12s%s ", recipes[i].name, is_fetched(recipes[i].name) ? " (here)" : ""),
            stdout);
}

static bool means_none(const char *word)
{
    return strcmp(word, "-") == 0 || strcasecmp(word, "n") == 0 || strcasecmp(word, "no") == 0 ||
           strcasecmp(word, "none") == 0;
}

/* Reads the answer into `line`, whose words the wishes are: NAMES_MAX at most. False: there is none. */
static bool ask(struct wishes *wishes, char **line)
{
    size_t size = 0;
    print_choice();
    printf("Names of images to fetch, or - for none [");
    for (size_t i = 0; i < wishes->count; i++)
        printf("%s%s", i > 0 ? " " : "", wishes->names[i]);
    printf("%s]: ", wishes->count == 0 ? "-" : "");
    fflush(stdout);
    if (getline(line, &size, stdin) < 0) {
        puts("\nNothing was fetched: there was no answer.");
        return false;
    }
    char *rest = NULL;
    char *word = strtok_r(*line, SEPARATORS, &rest);
    if (word != NULL)
        wishes->count = 0;
    for (; word != NULL && wishes->count < NAMES_MAX; word = strtok_r(NULL, SEPARATORS, &rest))
        if (!means_none(word))
            wishes->names[wishes->count++] = word;
    if (word != NULL)
        printf("Only the first %d names are taken.\n", NAMES_MAX);
    putchar('\n');
    return true;
}

/* Its exit status: it prints what it does, and what fails. */
static int fetch(struct wishes *wishes)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(image_program_execute("fetch", (int)wishes->count, wishes->names));
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0)
        log_note("cannot start a process: %s", strerror(errno));
    putchar('\n');
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Whether PATH leads to this program. */
static bool is_in_path(void)
{
    struct stat own;
    struct stat found;
    char *path = NULL;
    if (stat("/proc/self/exe", &own) < 0 || clients_find_program("code-sandbox-mcp", &path) < 0)
        return false;
    int r = stat(path, &found);
    free(path);
    return r == 0 && own.st_dev == found.st_dev && own.st_ino == found.st_ino;
}

/* "code-sandbox-mcp", or the path of this program. Returns `text`. */
static const char *own_command(char *text, size_t size)
{
    ssize_t length = is_in_path() ? -1 : readlink("/proc/self/exe", text, size - 1);
    if (length < 0)
        snprintf(text, size, "code-sandbox-mcp");
    else
        text[length] = '\0';
    return text;
}

static int can_run_here(void)
{
    struct host_finding host;
    struct fault fault = {0};
    int r = host_probe(TIER_F, &host, &fault);
    if (r < 0)
        log_note("%s", fault.text);
    return r == 0 && host.can_jail;
}

/* Which images, by the arguments, by --yes or by the answer to a question. The exit status. */
static int fetch_wishes(const struct setup_options *options, size_t count, char **names)
{
    struct wishes wishes = {.count = 0};
    if (count > 0) {
        wishes.count = count;
        memcpy(wishes.names, names, count * sizeof(*names));
        return fetch(&wishes);
    }
    wish_usual(&wishes);
    bool may_ask = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    if (!options->is_agreed && !may_ask) {
        if (wishes.count > 0)
            puts(
                "Nothing is fetched without a terminal to ask on: name the images, or add --yes.\n");
        return EXIT_DONE;
    }
    char *line = NULL;
    int status = EXIT_FAILED;
    if (options->is_agreed || ask(&wishes, &line))
        status = wishes.count > 0 ? fetch(&wishes) : EXIT_DONE;
    free(line);
    return status;
}

static int setup(const struct command *command, int argc, char **argv)
{
    struct setup_options options = {0};
    void *const data[] = {&options};
    struct fault fault = {0};
    int operands = 0;
    int status = EXIT_DONE;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    if (operands > NAMES_MAX) {
        fault_set(&fault, EINVAL, "more than %d images", NAMES_MAX);
        return command_refuse(command, &fault);
    }
    if (can_run_here())
        status = fetch_wishes(&options, (size_t)operands, argv);
    if (status != EXIT_DONE)
        return status;
    status = command_doctor.run(&command_doctor, 0, argv);
    if (status != EXIT_DONE)
        return status;
    char server[PATH_MAX];
    putchar('\n');
    clients_print(own_command(server, sizeof(server)), stdout);
    return EXIT_DONE;
}

static const struct option *const setup_options[] = {own_options, NULL};

const struct command command_setup = {
    .name = "setup",
    .usage = "setup [--yes] [IMAGE...]",
    .summary = "prepare the first use: check, fetch images, name clients",
    .help =
        "Checks whether this host lets sandboxes be made, fetches the images that are named, or asks\n"
        "for them on a terminal, runs `doctor`, and prints how to add the server to the MCP clients\n"
        "that are found here. It changes no configuration. Exit status 0 means snippets can run.\n",
    .options = setup_options,
    .run = setup,
};
