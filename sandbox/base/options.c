#include "sandbox/base/options.h"
#include "sandbox/base/spelling.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HELP_COLUMN 30
#define HELP_WIDTH 80
#define HELP_SIZE 256 /* of what is written for one option */

int option_keep_text(void *data, const struct option *option, const char *value,
                     struct fault *fault)
{
    (void)fault;
    *(const char **)((char *)data + option->offset) = value;
    return 0;
}

int option_set_flag(void *data, const struct option *option, const char *value, struct fault *fault)
{
    (void)value;
    (void)fault;
    *(bool *)((char *)data + option->offset) = true;
    return 0;
}

/* Finds the option of that name; *ret_data is the data of its table. */
static const struct option *find_option(const struct option_table *tables, const char *name,
                                        size_t length, void **ret_data)
{
    for (; tables->options != NULL; tables++) {
        if (tables->elsewhere != NULL)
            continue;
        for (const struct option *option = tables->options; option->name != NULL; option++) {
            const char *other = option->short_name != NULL ? option->short_name : option->name;
            if ((strlen(option->name) == length && memcmp(option->name, name, length) == 0) ||
                (strlen(other) == length && memcmp(other, name, length) == 0)) {
                *ret_data = tables->data;
                return option;
            }
        }
    }
    return NULL;
}

static int refuse_unknown(const struct option_table *tables, const char *argument, size_t length,
                          struct fault *fault)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)length, argument);
    struct spelling spelling = spelling_of(name);
    for (; tables->options != NULL; tables++) {
        for (const struct option *option = tables->options; option->name != NULL; option++) {
            if (tables->elsewhere == NULL)
                spelling_offer(&spelling, option->name);
            else if (strcmp(option->name, name) == 0)
                return fault_set(fault, EINVAL,
                                 "unknown option %s: `%s` takes it, this command does not", name,
                                 tables->elsewhere);
        }
    }
    spelling_offer(&spelling, "--help");
    spelling_offer(&spelling, "--version");
    if (spelling.nearest != NULL)
        return fault_set(fault, EINVAL, "unknown option %s: did you mean %s?", name,
                         spelling.nearest);
    return fault_set(fault, EINVAL, "unknown option %s: see --help", name);
}

/*
 * Reads the option at argv[*index]; *index ends on the last argument that belongs to it. 1: it is the last
 * option; 0; or -EINVAL.
 */
static int read_option(const struct option_table *tables, int argc, char **argv, int *index,
                       struct fault *fault)
{
    const char *argument = argv[*index];
    size_t length = strcspn(argument, "=");
    const char *value = argument[length] == '=' ? argument + length + 1 : NULL;
    void *data = NULL;
    const struct option *option = find_option(tables, argument, length, &data);
    if (option == NULL)
        return refuse_unknown(tables, argument, length, fault);
    if (option->value == NULL && value != NULL)
        return fault_set(fault, EINVAL, "the option %s takes no value", option->name);
    if (option->value != NULL && value == NULL) {
        if (*index + 1 >= argc)
            return fault_set(fault, EINVAL, "the option %s needs a value: %s %s", option->name,
                             option->name, option->value);
        value = argv[++*index];
    }
    int r = option->apply(data, option, value, fault);
    return r < 0 ? r : option->short_name != NULL;
}

static int read_options(const struct option_table *tables, int argc, char **argv, bool operand_ends,
                        int *ret_operands, struct fault *fault)
{
    int operands = 0;
    bool ended = false;
    for (int i = 0; i < argc; i++) {
        if (ended || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[operands++] = argv[i];
            ended = ended || operand_ends;
        } else if (strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return OPTIONS_HELP;
        } else if (strcmp(argv[i], "--version") == 0) {
            return OPTIONS_VERSION;
        } else {
            int r = read_option(tables, argc, argv, &i, fault);
            if (r < 0)
                return r;
            ended = r > 0;
        }
    }
    *ret_operands = operands;
    return 0;
}

int options_read(const struct option_table *tables, int argc, char **argv, int *ret_operands,
                 struct fault *fault)
{
    return read_options(tables, argc, argv, false, ret_operands, fault);
}

int options_read_leading(const struct option_table *tables, int argc, char **argv,
                         int *ret_operands, struct fault *fault)
{
    return read_options(tables, argc, argv, true, ret_operands, fault);
}

static void print_option(const char *name, const char *value, const char *help, FILE *stream)
{
    int column =
        fprintf(stream, "  %s%s%s", name, value != NULL ? " " : "", value != NULL ? value : "");
    for (const char *line = help; *line != '\0';) {
        if (column >= HELP_COLUMN) {
            fputc('\n', stream);
            column = 0;
        }
        size_t length = strcspn(line, "\n");
        fprintf(stream, "%*s%.*s\n", HELP_COLUMN - column, "", (int)length, line);
        column = 0;
        line += length + (line[length] == '\n');
    }
}

void options_print(const struct option *options, FILE *stream)
{
    for (const struct option *option = options; option->name != NULL; option++) {
        char text[HELP_SIZE] = "";
        if (option->help == NULL)
            option->write_help(option, text, sizeof(text));
        print_option(option->name, option->value, option->help != NULL ? option->help : text,
                     stream);
    }
}

void options_print_words(const char *words, int column, FILE *stream)
{
    int at = column;
    for (const char *word = words; *word != '\0';) {
        int length = (int)strcspn(word, " ");
        if (at > column && at + 1 + length > HELP_WIDTH) {
            fprintf(stream, "\n%*s", column, "");
            at = column;
        }
        at += fprintf(stream, "%s%.*s", at > column ? " " : "", length, word);
        word += length + (word[length] == ' ');
    }
    fputc('\n', stream);
}

void options_print_common(FILE *stream)
{
    print_option("--help", NULL, "this text", stream);
    print_option("--version", NULL, "the version", stream);
}
