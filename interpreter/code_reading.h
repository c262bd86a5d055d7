/*
 * How interpreters read a program's file.
 *
 * Side: parent.  Source: Python Language Reference, "Encoding declarations" (PEP 263); zipapp.
 */
#ifndef INTERPRETER_CODE_READING_H
#define INTERPRETER_CODE_READING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether this program is read once, from its start to its end, so that it may as well come through a
 * FIFO. Python goes back in one that declares another encoding than UTF-8, and looks at the end of it
 * for the directory of a zip archive. True is certain, false a guess on the safe side.
 */
bool code_reading_is_once(const char *code, size_t length);

/*
 * Whether a Python program may import a module: it has one of the words import, exec and eval. A program
 * that makes do without them, and means to, is not found out.
 */
bool code_reading_may_import(const char *code, size_t length);

#endif
