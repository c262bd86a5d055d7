/*
 * What a request code-sandbox/exec asks for.
 *
 * Side: parent.
 */
#ifndef MCP_EXTENSION_EXEC_WORDS_H
#define MCP_EXTENSION_EXEC_WORDS_H

#include "interpreter/launcher.h"
#include "mcp/extension/parameters.h"
#include "sandbox/session_spec.h"

struct exec_words {
    struct command_spec spec; /* borrows from here and from the parameters */
    const char *session;      /* a handle, borrowed from the parameters */
    bool is_streamed;
    /* Private: */
    char **argv, **given, **names; /* owned */
    const char **environment; /* owned */
    const char *shell[4];
    struct parameter_data input;
};

/* 0; -EINVAL, -ENOMEM with a fault. To be released in either case. */
int exec_words_read(struct exec_words *words, const struct settings *settings,
                    const struct json_value *params, struct fault *fault);
/* The same of a request code-sandbox/connect, whose output is streamed, and whose stdin stays open. */
int exec_words_read_port(struct exec_words *words, const struct json_value *params,
                         struct fault *fault);

/* What the session decides: the shell of a line, and all variables. 0; -ENOMEM with a fault. */
int exec_words_complete(struct exec_words *words, const struct environment *environment,
                        const struct live_session *live, struct fault *fault);

void exec_words_release(struct exec_words *words);

#endif
