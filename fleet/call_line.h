/*
 * A call as one line of JSON: {"id", "language", "code"} and, where needed, the other arguments of the
 * tools, and tests of the program (interpreter/cases/test_set.h). `batch` reads such lines.
 *
 * Side: parent.  Source: RFC 8259; https://jsonlines.org. The line comes from outside: untrusted.
 */
#ifndef FLEET_CALL_LINE_H
#define FLEET_CALL_LINE_H

#include "interpreter/cases/test_set.h"
#include "mcp/tools/code_arguments.h"

#define CALL_ID_MAX 1024 /* of an id, as JSON text */

struct call_line {
    struct json *json; /* owned; everything below borrows from it */
    struct buffer
        id; /* as JSON text: a string, or an integer as it was written; empty: none is given */
    struct test_set tests; /* of the program; none: it is run once */
    struct code_arguments arguments; /* with the language; no session */
    bool is_carried; /* from elsewhere: its result is to be, too (carried_result.h) */
    bool wants_files; /* then */
    struct buffer stdin_bytes; /* then */
    const char **program_arguments; /* owned; then; the texts are borrowed from the JSON */
};

/*
 * Reads a line without its newline; it may be freed afterwards. The settings bound the time, and must
 * have no sessions. 0, or a negative errno with a sentence that says what is wrong; an id that could be
 * read is there even then. To be released in any case.
 */
int call_line_read(struct call_line *call, const struct settings *settings, const char *line,
                   size_t length, struct fault *fault);
/*
 * The same, of a line that came from another machine, where "carry" may be a member: an object that may have "stdin",
 * in base64, "arguments" of the program, "compile_ms", how long its compiler may take, and "files": whether those that it
 * leaves are wanted.
 */
int call_line_read_carried(struct call_line *call, const struct settings *settings,
                           const char *line, size_t length, struct fault *fault);
void call_line_release(struct call_line *call);

/* Writes the text of an id, whatever spelling it has in JSON, for comparisons. 0 or a negative errno. */
int call_line_id(const struct json_value *id, struct buffer *ret_text, struct fault *fault);

#endif
