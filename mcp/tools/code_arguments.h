/*
 * The arguments of the tools that run a snippet: rows of one table, from which they are read, checked
 * and described to clients.
 *
 * Side: parent.
 */
#ifndef MCP_TOOLS_CODE_ARGUMENTS_H
#define MCP_TOOLS_CODE_ARGUMENTS_H

#include "interpreter/input_files.h"
#include "mcp/tools/tool.h"

/* In place of a handle: a session is to be started. */
#define SESSION_NEW "new"

/* What a call asks for. */
struct code_arguments {
    struct snippet snippet; /* without its language; borrows from the JSON and from `files` */
    const char *session; /* SESSION_NEW or a handle, borrowed from the JSON; NULL: none is wanted */
    struct input_files files;
    char *code; /* owned: the program, if it is not as in the JSON; NULL: it is */
};

/* How to read the arguments of a call. All borrowed. */
struct code_arguments_form {
    const struct tool *tool;
    const struct settings *settings;
    const char *const *others; /* names of members that the caller reads, up to NULL; or NULL */
};
/*
 * Reads the arguments of a call: an object from the client, untrusted, or NULL. Null counts as left out
 * where an argument may be left out. 0; or a negative errno with a sentence that tells the model which
 * argument is wrong and what to do. To be released in either case.
 */
int code_arguments_read(struct code_arguments *arguments, const struct code_arguments_form *form,
                        const struct json_value *object, struct fault *fault);

void code_arguments_release(struct code_arguments *arguments);

/* Member of struct tool. */
void code_arguments_write_schema(const struct tool *tool, const struct settings *settings,
                                 struct json_writer *writer);

#endif
