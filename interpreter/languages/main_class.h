/*
 * The names of classes in a program, for languages whose files are named after one (Java, Scala).
 *
 * Reads words, brackets, strings and comments as those languages have them, and no more of the grammar.
 * Side: parent.  Source: The Java Language Specification, 7.6 and 12.1.4. The code is untrusted.
 */
#ifndef INTERPRETER_LANGUAGES_MAIN_CLASS_H
#define INTERPRETER_LANGUAGES_MAIN_CLASS_H

#include <stddef.h>

#define CLASS_NAME_SIZE 128

struct main_class {
    /* That the file is named after: the public one, else the first with main(), else the first, else "Main". */
    char file[CLASS_NAME_SIZE];
    /* That starts, with its package: the first with main(), else the other one. */
    char main[2 * CLASS_NAME_SIZE];
};

struct main_class main_class_find(const char *code, size_t length);

#endif
