/*
 * Programs as models write them: in a code fence of Markdown, or indented as a part of a larger text.
 *
 * Only what no interpreter could run is changed, so a program means what it says.
 *
 * Side: parent.  The text comes from the client: untrusted.  Source: CommonMark, "Fenced code blocks"; the input
 * transformations of IPython.
 */
#ifndef INTERPRETER_CODE_TEXT_H
#define INTERPRETER_CODE_TEXT_H

#include <stddef.h>

/* Bytes of a program, borrowed. */
struct code_text {
    const char *bytes;
    size_t length;
};

/*
 * The lines between a fence that is the first line and one that is the last, if no other line is one; else all. A byte
 * order mark before them, which Bash would take for a letter, is left out.
 */
struct code_text code_text_unfence(struct code_text code);

/*
 * Of Python whose first statement is indented, which is an error: the program without this indentation in each line
 * that has it. `ret_owned` is then the memory of it, else NULL. 0 or -ENOMEM.
 */
int code_text_dedent(struct code_text *code, char **ret_owned);

/*
 * Of Bash whose lines all end with CR LF, as on Windows, where a CR would be a part of the last word: with LF.
 * Otherwise as above.
 */
int code_text_end_lines(struct code_text *code, char **ret_owned);

#endif
