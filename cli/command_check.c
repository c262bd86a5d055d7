#include "cli/command.h"
#include "cli/program_check.h"
#include "cli/run_source.h"
#include "cli/sarif.h"
#include "interpreter/base/log.h"
#include "interpreter/rules/findings_text.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings_read.h"
#include "interpreter/settings/tier_choice.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define DOCUMENT_MAX (64 * MEBIBYTE)
#define LINE_SIZE 16384

struct check_options {
    struct settings settings;
    const struct language *language; /* of all files; NULL: as their names suggest */
    bool json, sarif; /* in a document of that kind; neither: lines */
};

#define AT(member) .offset = offsetof(struct check_options, member)

static const struct option own_options[] = {
    {"--language", "LANGUAGE", "of all files, instead of the one that a name suggests",
     run_source_set_language, AT(language)},
    {"--json", NULL, "print one JSON document", option_set_flag, AT(json)},
    {"--sarif", NULL, "print a SARIF log, for code hosts and editors", option_set_flag, AT(sarif)},
    {0},
};

/* One execution of the command. */
struct examination_of_files {
    const struct check_options *options;
    struct program_check program;
    struct json_writer *writer; /* NULL: lines are printed */
    bool is_refused, has_failed;
};

static void write_file(struct examination_of_files *all, const char *path,
                       const struct language *language)
{
    const struct findings *findings = &all->program.check.findings;
    if (all->options->sarif) {
        sarif_add(all->writer, path, findings);
        return;
    }
    json_begin_object(all->writer);
    json_text_member(all->writer, "file", path);
    json_text_member(all->writer, "language", language->name);
    json_key(all->writer, "findings");
    findings_text_write(all->writer, findings);
    json_text_member(all->writer, "unchecked", findings->unchecked);
    json_end_object(all->writer);
}

/* FILE:LINE:COLUMN: refuse: line 3 uses ..., as compilers do. */
static void print_findings(const char *path, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->list[i];
        OWNED(buffer_release) struct buffer text = BUFFER(LINE_SIZE);
        findings_text_describe(finding, &text);
        printf("%s:%u:%u: %s: %.*s\n", path, finding->line, finding->column,
               severity_name(finding->severity), (int)text.length, text.data);
    }
}

static int check_file(struct examination_of_files *all, const char *path, struct fault *fault)
{
    OWNED(buffer_release) struct buffer code = BUFFER(RUN_SOURCE_MAX);
    int r = run_source_read(NULL, path, &code, fault);
    if (r < 0)
        return r;
    const struct language *language = all->options->language;
    if (language == NULL)
        language = run_source_language(path);
    if (language == NULL)
        language = run_source_interpreter(&code);
    if (language == NULL)
        return fault_set(fault, EINVAL, "cannot guess the language of %s: use --language", path);
    r = program_check_run(&all->program, language, &code, fault);
    if (r < 0)
        return r;
    struct findings *findings = &all->program.check.findings;
    if (!checker_is_for(&all->program.checker, language))
        findings->unchecked = strdup("there are no checks for its language");
    if (findings->unchecked != NULL)
        log_note("%s is not checked: %s", path, findings->unchecked);
    all->has_failed = all->has_failed || all->program.check.has_failed;
    all->is_refused = all->is_refused || findings_severity(findings) == SEVERITY_REFUSE;
    if (all->writer != NULL)
        write_file(all, path, language);
    else
        print_findings(path, findings);
    return 0;
}

static int check_files(struct examination_of_files *all, int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        struct fault fault = {0};
        int r = check_file(all, paths[i], &fault);
        if (r == -EINTR)
            return r;
        if (r < 0) {
            log_note("%s", fault.text);
            all->has_failed = true;
        }
    }
    return 0;
}

/* Prints the document around what all files have. */
static int check_into_document(struct examination_of_files *all, int count, char **paths)
{
    OWNED(buffer_release) struct buffer text = BUFFER(DOCUMENT_MAX);
    bool is_sarif = all->options->sarif;
    int r = json_writer_open(&text, &all->writer);
    if (r < 0)
        return r;
    if (is_sarif)
        sarif_begin(all->writer, &all->program.checker.rules);
    else
        json_begin_array(all->writer);
    r = check_files(all, count, paths);
    if (is_sarif)
        sarif_end(all->writer);
    else
        json_end_array(all->writer);
    int closed = json_writer_close(all->writer);
    if (r == 0 && closed == 0)
        printf("%.*s\n", (int)text.length, text.data);
    return r < 0 ? r : closed;
}

static int examine(const struct check_options *options, int count, char **paths)
{
    struct examination_of_files all = {.options = options};
    struct fault fault = {0};
    int r = program_check_open(&all.program, &options->settings, &fault);
    if (r == 0)
        r = options->json || options->sarif ? check_into_document(&all, count, paths)
                                            : check_files(&all, count, paths);
    program_check_close(&all.program);
    if (all.program.signal != 0)
        end_signals_die_of(&all.program.end_signals, all.program.signal);
    if (r < 0)
        log_note("%s", fault.text[0] != '\0'
                           ? fault.text
                           : "the document is longer than 64 MiB, or there is no memory for it");
    return r < 0 || all.has_failed || all.is_refused ? EXIT_FAILED : EXIT_DONE;
}

static void check_options_release(struct check_options *options)
{
    settings_release(&options->settings);
}

static int check(const struct command *command, int argc, char **argv)
{
    OWNED(check_options_release)
    struct check_options options = {.settings = settings_default()};
    void *const data[] = {&options, &options.settings};
    struct fault fault = {0};
    int operands = 0;
    int status = EXIT_DONE;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    int r = settings_read(&options.settings, &fault);
    if (r == 0 && (options.settings.policy == NULL || strcmp(options.settings.policy, "off") == 0))
        r = fault_set(&fault, EINVAL,
                      "there are no rules: name a file of rules, hints or strict with --policy");
    if (r == 0)
        r = rules_try(options.settings.policy, &fault);
    if (r == 0 && options.json && options.sarif)
        r = fault_set(&fault, EINVAL, "--json and --sarif exclude each other");
    if (r == 0 && operands == 0)
        r = fault_set(&fault, EINVAL, "name the files to check");
    if (r < 0)
        return command_refuse(command, &fault);
    tier_choose(&options.settings);
    return examine(&options, operands, argv);
}

static const struct option *const check_options[] = {own_options, settings_of_runs, NULL};

const struct command command_check = {
    .name = "check",
    .usage = "check --policy FILE [--json | --sarif] [OPTION...] FILE...",
    .summary = "check programs against rules, without running them",
    .help =
        "Checks programs in Python and JavaScript against the rules of --policy, as the server does\n"
        "before each run. Prints a line for each finding. Exit status: 0 nothing is refused, 1 a rule\n"
        "refuses a program, a file cannot be read, or a check failed, 2 wrong usage.\n",
    .options = check_options,
    .run = check,
};
