#include "mcp/extension/exec_words.h"

#include "interpreter/base/bounds.h"
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <string.h>

enum {
    SESSION,
    ARGV,
    SHELL,
    CWD,
    ENV,
    STDIN,
    STDIN_BASE64,
    STDIN_OPEN,
    TIMEOUT,
    STREAM,
    ROW_COUNT,
};
static const struct parameter rows[ROW_COUNT] = {
    [SESSION] = {"session", PARAMETER_TEXT, true},
    [ARGV] = {"argv", PARAMETER_TEXTS, false},
    [SHELL] = {"shell", PARAMETER_TEXT, false},
    [CWD] = {"cwd", PARAMETER_TEXT, false},
    [ENV] = {"env", PARAMETER_VARIABLES, false},
    [STDIN] = {"stdin", PARAMETER_DATA, false},
    [STDIN_BASE64] = {"stdin_base64", PARAMETER_BASE64, false},
    [STDIN_OPEN] = {"stdin_open", PARAMETER_SWITCH, false},
    [TIMEOUT] = {"timeout_seconds", PARAMETER_NUMBER, false},
    [STREAM] = {"stream", PARAMETER_SWITCH, false},
};

static int read_program(struct exec_words *words, const struct json_value *const *values,
                        struct fault *fault)
{
    const struct json_value *line = values[SHELL];
    if ((line != NULL) == (values[ARGV] != NULL)) {
        fault_identify(fault, "invalid_parameter");
        return fault_set(fault, EINVAL, "one of the parameters \"argv\" and \"shell\" is needed");
    }
    if (line == NULL) {
        int r = parameters_list(&rows[ARGV], values[ARGV], &words->argv, fault);
        words->spec.argv = (const char *const *)words->argv;
        return r;
    }
    const char *const shell[] = {language_shells[0], "-c", line->text, NULL};
    memcpy(words->shell, shell, sizeof(shell));
    words->spec.argv = words->shell;
    return 0;
}

static int read_input(struct exec_words *words, const struct json_value *const *values,
                      struct fault *fault)
{
    int r = parameters_data(&rows[STDIN], &values[STDIN], EXEC_STDIN_MAX, &words->input, fault);
    words->spec.stdin_bytes = words->input.bytes;
    words->spec.stdin_length = words->input.length;
    words->spec.keeps_stdin_open = parameters_switch(values[STDIN_OPEN]);
    return r;
}

int exec_words_read(struct exec_words *words, const struct settings *settings,
                    const struct json_value *params, struct fault *fault)
{
    const struct json_value *values[ROW_COUNT];
    *words = (struct exec_words){0};
    int r = parameters_read(params, rows, ROW_COUNT, values, fault);
    if (r == 0)
        r = read_program(words, values, fault);
    if (r == 0)
        r = parameters_list(&rows[ENV], values[ENV], &words->given, fault);
    if (r == 0)
        r = read_input(words, values, fault);
    if (r == 0)
        r = parameters_time(&rows[TIMEOUT], values[TIMEOUT], settings->wall_max_ms,
                            settings->limits.wall_ms, &words->spec.wall_ms, fault);
    if (r < 0)
        return r;
    words->session = values[SESSION]->text;
    words->spec.directory = values[CWD] != NULL ? values[CWD]->text : NULL;
    words->is_streamed = parameters_switch(values[STREAM]);
    return 0;
}

enum { CONNECT_SESSION, CONNECT_PORT, CONNECT_ROWS };
static const struct parameter connect_rows[CONNECT_ROWS] = {
    [CONNECT_SESSION] = {"session", PARAMETER_TEXT, true},
    [CONNECT_PORT] = {"port", PARAMETER_WHOLE, true, .low = 1},
};

int exec_words_read_port(struct exec_words *words, const struct json_value *params,
                         struct fault *fault)
{
    const struct json_value *values[CONNECT_ROWS];
    uint64_t port = 0;
    *words = (struct exec_words){0};
    int r = parameters_read(params, connect_rows, CONNECT_ROWS, values, fault);
    if (r == 0)
        r = parameters_whole(&connect_rows[CONNECT_PORT], values[CONNECT_PORT], UINT16_MAX, 0,
                             &port, fault);
    if (r < 0)
        return r;
    words->session = values[CONNECT_SESSION]->text;
    words->is_streamed = true;
    words->spec = (struct command_spec){
        .port = (uint16_t)port, .keeps_stdin_open = true, .wall_ms = SESSION_LIFE_MAX_MS};
    return 0;
}

static void choose_shell(struct exec_words *words, const struct live_session *live)
{
    const char *const *shell = language_shells;
    while (shell[1] != NULL && !launcher_has_program(live, shell[0]))
        shell++;
    words->shell[0] = *shell;
}

/* These have a value in every jail. */
static bool is_of_jail(const struct variable *variable)
{
    static const char *const names[] = {"PATH", "HOME", "USER", "LOGNAME", "LANG"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strlen(names[i]) == variable->name_length &&
            strncmp(names[i], variable->text, variable->name_length) == 0)
            return true;
    return false;
}

/* What the session's first program has got for its language alone is not for commands. */
static int leave_out(struct exec_words *words, const struct environment *environment,
                     const struct language *first, size_t *count)
{
    for (size_t i = 0; i < environment->count; i++) {
        const struct variable *variable = &environment->variables[i];
        if (variable->language == NULL || variable->language != first || is_of_jail(variable))
            continue;
        words->names[*count] = strndup(variable->text, variable->name_length);
        if (words->names[*count] == NULL)
            return -ENOMEM;
        words->environment[*count] = words->names[*count];
        ++*count;
    }
    return 0;
}

static void append(struct exec_words *words, size_t *count, char *const *variables)
{
    for (; variables != NULL && *variables != NULL; variables++)
        words->environment[(*count)++] = *variables;
}

static size_t length_of(char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    return count;
}

int exec_words_complete(struct exec_words *words, const struct environment *environment,
                        const struct live_session *live, struct fault *fault)
{
    if (words->spec.port > 0)
        return 0;
    bool is_line = words->spec.argv == words->shell;
    size_t most = 2 * environment->count + length_of(live->environment) + length_of(words->given);
    size_t count = 0;
    if (is_line)
        choose_shell(words, live);
    words->environment = calloc(most + 1, sizeof(*words->environment));
    words->names = calloc(environment->count + 1, sizeof(*words->names));
    if (words->environment == NULL || words->names == NULL ||
        leave_out(words, environment, live->languages[0], &count) < 0)
        return fault_set(fault, ENOMEM, "out of memory for the variables of a command");
    count += environment_for(environment, is_line ? language_of_shell_lines : NULL,
                             words->environment + count);
    append(words, &count, live->environment);
    append(words, &count, words->given);
    words->spec.environment = words->environment;
    return 0;
}

void exec_words_release(struct exec_words *words)
{
    parameter_list_release(&words->argv);
    parameter_list_release(&words->given);
    memory_release(&words->environment);
    parameter_list_release(&words->names);
    parameter_data_release(&words->input);
}
