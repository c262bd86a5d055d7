/*
 * What a program names: the answer of the checkers, images/runners/python/check.py and javascript/check.cjs.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RULES_FACT_H
#define INTERPRETER_RULES_FACT_H

#include <stddef.h>

#define FACTS_MAX 8192
#define FACT_NAME_MAX 1024     /* bytes */
#define FACT_LITERAL_MAX 16384 /* bytes of a string */

enum fact_kind {
    FACT_IMPORT,  /* a module: "subprocess" */
    FACT_NAME,    /* a member of one: "os.system" */
    FACT_GLOBAL, /* a name that nothing in the program binds: a builtin, "eval"; met by calls alone */
    FACT_LITERAL, /* a string */
    FACT_MISSING, /* a module that the image has not */
    FACT_DYNAMIC, /* something that is decided at run time: "exec" */
    FACT_UNPARSED, /* of findings only: the program could not be checked */
};

struct fact {
    enum fact_kind kind;
    const char *name; /* borrowed */
    unsigned line, column; /* from 1 */
};

/* "import": static. */
const char *fact_kind_name(enum fact_kind kind);

#endif
