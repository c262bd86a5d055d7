#include "cli/command.h"
#include "cli/prompt_reader.h"
#include "cli/run_source.h"
#include "cli/shell.h"
#include "images/store/xdg.h"
#include "interpreter/base/log.h"
#include "interpreter/rules/rules.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings_read.h"
#include "interpreter/settings/tier_choice.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROMPT_SIZE 32

struct shell_options {
    struct settings settings;
    const struct language *language; /* of the first cell */
    struct given_files files;
    bool no_history;
};

/* What is read, and what runs it. */
struct dialogue {
    struct shell shell;
    struct prompt_reader reader;
    char *history; /* owned; its path, or NULL */
    struct buffer cell;
    bool is_over; /* as the person wants */
};

#define AT(member) .offset = offsetof(struct shell_options, member)

static const struct option own_options[] = {
#define LANGUAGE(name, place) #name ", "
    {"--language", "LANGUAGE", LANGUAGES "of the first\ncell; python is the default",
     run_source_set_language, AT(language)},
#undef LANGUAGE
    {"--file", "FILE",
     "put a copy of FILE into the working directory, or\nwith NAME=FILE under that name; repeatable",
     given_files_add, AT(files)},
    {"--no-history", NULL, "keep no history of what was typed", option_set_flag, AT(no_history)},
    {0},
};

static void on_interrupt(void *data)
{
    struct dialogue *dialogue = data;
    prompt_reader_interrupt(&dialogue->reader);
}

static void show_help(const struct shell *shell)
{
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        if (shell->live.session != NULL && launcher_may_continue(&shell->live, languages[i]))
            fprintf(stderr, "%%%-12s go on in %s, in the same sandbox\n", languages[i]->name,
                    languages[i]->title);
    fputs("%changes      show what changed in copies of folders\n"
          "%help         this list\n"
          "exit, Ctrl-D  end the shell\n"
          "Ctrl-C        interrupt a cell, or drop what was typed\n"
          "An empty line ends a block.\n",
          stderr);
}

static void show_changes(struct dialogue *dialogue)
{
    shell_show_changes(&dialogue->shell);
}

static void help(struct dialogue *dialogue)
{
    show_help(&dialogue->shell);
}

static void leave(struct dialogue *dialogue)
{
    dialogue->is_over = true;
}

/* Words for the shell, each alone in a line. */
static const struct word {
    const char *text;
    void (*obey)(struct dialogue *dialogue);
} words[] = {
    {"%help", help},   {"%changes", show_changes}, {"%exit", leave},
    {"exit", leave},   {"exit()", leave},          {"quit", leave},
    {"quit()", leave},
};

/* Whether the first line of a cell was one; then it has been obeyed. */
static bool obey_word(struct dialogue *dialogue)
{
    char line[32];
    const char *text = dialogue->cell.data;
    size_t length = dialogue->cell.length;
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        length--;
    if (length >= sizeof(line))
        return false;
    memcpy(line, text, length);
    line[length] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
        if (strcmp(line, words[i].text) == 0) {
            words[i].obey(dialogue);
            return true;
        }
    const struct language *language = line[0] == '%' ? language_find(line + 1) : NULL;
    if (language != NULL && language->session != NULL)
        shell_choose(&dialogue->shell, language);
    else if (language != NULL)
        fprintf(stderr, "%s has no sessions: use code-sandbox-mcp run\n", language->title);
    return language != NULL;
}

/* "python> ", or of the same width "......> ". */
static void write_prompt(const struct dialogue *dialogue, char prompt[PROMPT_SIZE])
{
    int length = snprintf(prompt, PROMPT_SIZE, "%s> ", dialogue->shell.language->name);
    if (dialogue->cell.length > 0)
        memset(prompt, '.', (size_t)length - strlen("> "));
}

static bool is_blank(const char *text, size_t length)
{
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        length--;
    return length == 0;
}

/*
 * Whether the cell is whole with the line that was added last. An empty line ends a block, unless more of it has been
 * pasted, or is in the file.
 */
static bool is_whole(struct dialogue *dialogue, size_t line)
{
    const struct buffer *cell = &dialogue->cell;
    enum typed typed = dialogue->shell.language->judge_typed(cell->data, cell->length);
    if (typed != TYPED_BLOCK || !is_blank(cell->data + line, cell->length - line))
        return typed == TYPED_WHOLE;
    return dialogue->reader.is_terminal ? !prompt_reader_has_more(&dialogue->reader)
                                        : !prompt_reader_is_indented(&dialogue->reader);
}

/* Reads a cell. As prompt_reader_next(). */
static int read_cell(struct dialogue *dialogue)
{
    char prompt[PROMPT_SIZE];
    dialogue->cell.length = 0;
    for (;;) {
        size_t line = dialogue->cell.length;
        write_prompt(dialogue, prompt);
        int r = prompt_reader_next(&dialogue->reader, prompt, &dialogue->cell);
        if (r < 0 || (r == 0 && line == 0))
            return r;
        if (r == 0)
            return 1; /* what there is */
        if (line == 0 && is_blank(dialogue->cell.data, dialogue->cell.length)) {
            dialogue->cell.length = 0;
            continue;
        }
        if ((line == 0 && obey_word(dialogue)) || shell_is_over(&dialogue->shell)) {
            dialogue->cell.length = 0;
            if (dialogue->is_over || shell_is_over(&dialogue->shell))
                return 0;
        } else if (is_whole(dialogue, line)) {
            return 1;
        }
    }
}

static void greet(const struct dialogue *dialogue)
{
    const struct shell *shell = &dialogue->shell;
    if (dialogue->reader.is_terminal)
        fprintf(stderr, "%s in a sandbox, on image %s. %%help lists the words of this shell.\n",
                shell->language->title, shell->live.image);
}

/* Until the end of the input, a signal, or the word. */
static void converse(struct dialogue *dialogue)
{
    int r = 1;
    greet(dialogue);
    while (!dialogue->is_over && !shell_is_over(&dialogue->shell)) {
        r = read_cell(dialogue);
        if (r == 0 || (r < 0 && r != -EINTR && r != -ENOBUFS))
            break;
        if (r == 1)
            shell_run(&dialogue->shell, dialogue->cell.data, dialogue->cell.length);
        else if (r == -ENOBUFS)
            log_note("The cell is longer than %llu MiB, the maximum for code",
                     (unsigned long long)(CODE_MAX / MEBIBYTE));
        else if (dialogue->shell.fatal == 0)
            fputs("\n", stderr);
    }
    if (dialogue->reader.is_terminal && r == 0 && !dialogue->is_over)
        fputs("\n", stderr);
    if (r < 0 && !shell_is_over(&dialogue->shell))
        log_note("reading stdin: %s", strerror(-r));
}

/* The file of the history, in a directory that is there; NULL: there is no place for it. */
static char *find_history(void)
{
    OWNED_MEMORY char *state = NULL;
    OWNED_MEMORY char *directory = NULL;
    char *path = NULL;
    if (xdg_directory("XDG_STATE_HOME", ".local/state", &state) < 0 ||
        asprintf(&directory, "%s/code-sandbox-mcp", state) < 0)
        return NULL;
    char *slash = strrchr(state, '/');
    *slash = '\0';
    mkdir(state, 0700);
    *slash = '/';
    mkdir(state, 0700);
    mkdir(directory, 0700);
    return asprintf(&path, "%s/history", directory) < 0 ? NULL : path;
}

static int run_dialogue(const struct shell_options *options)
{
    struct dialogue dialogue = {.cell = BUFFER(CODE_MAX)};
    struct shell *shell = &dialogue.shell;
    struct fault fault = {0};
    int r = shell_open(shell, &options->settings, &options->files, options->language, &fault);
    shell->interrupted = on_interrupt;
    shell->data = &dialogue;
    if (r == 0)
        r = shell_prepare(shell, &fault);
    if (r == 0) {
        dialogue.history = options->no_history ? NULL : find_history();
        prompt_reader_open(&dialogue.reader, &shell->loop, dialogue.history);
        converse(&dialogue);
        prompt_reader_close(&dialogue.reader);
        if (!shell_is_over(shell))
            shell_tell_changes(shell);
    } else {
        log_note("%s", fault.text);
    }
    int status = r < 0 || shell->write_error != 0 ? EXIT_RUN_FAILED : shell->exit_status;
    shell_close(shell);
    buffer_release(&dialogue.cell);
    memory_release(&dialogue.history);
    if (shell->fatal != 0)
        end_signals_die_of(&shell->end_signals, shell->fatal);
    return status;
}

static int read_settings(struct shell_options *options, struct fault *fault)
{
    struct settings *settings = &options->settings;
    int r = settings_read(settings, fault);
    if (r == 0 && settings->fleet.url != NULL)
        r = fault_set(fault, EINVAL,
                      "shell and --workers cannot be combined: workers have no sessions");
    if (r == 0 && options->language->session == NULL)
        r = fault_set(fault, EINVAL, "%s has no sessions", options->language->title);
    if (r == 0)
        r = rules_try(settings->policy, fault);
    return r < 0 ? r
                 : given_files_read(&options->files, settings, options->language->code_name, fault);
}

static void shell_options_release(struct shell_options *options)
{
    settings_release(&options->settings);
    given_files_release(&options->files);
}

static int run(const struct command *command, int argc, char **argv)
{
    OWNED(shell_options_release)
    struct shell_options options = {.settings = settings_default(), .language = languages[0]};
    void *const data[] = {&options, &options.settings};
    struct fault fault = {0};
    int operands = 0;
    int status = EXIT_DONE;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    int r = operands == 0 ? read_settings(&options, &fault)
                          : fault_set(&fault, EINVAL, "\"%.*s\" is not expected here",
                                      command_shown_length(argv[0]), argv[0]);
    if (r < 0)
        return command_refuse(command, &fault);
    tier_choose(&options.settings);
    return run_dialogue(&options);
}

static const struct option *const shell_options[] = {own_options, settings_of_runs, NULL};

const struct command command_shell = {
    .name = "shell",
    .usage = "shell [OPTION...]",
    .summary = "run what you type in a sandbox that keeps its variables",
    .help =
        "Runs what is typed, or is on stdin, in a session: one sandbox, in which variables and files\n"
        "are kept from cell to cell. A cell is a line, or all lines up to the end of its brackets and\n"
        "quotes; an empty line ends a block. %help lists the words of the shell, such as %bash for\n"
        "another language. Ctrl-C interrupts a cell, Ctrl-D ends the shell. The exit status is that\n"
        "of the last cell, as of `run`. Variables and the configuration file apply as for a server.\n",
    .options = shell_options,
    .run = run,
};
