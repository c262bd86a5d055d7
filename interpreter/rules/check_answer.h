/*
 * The answer of a checker: {"facts": [[KIND, NAME, LINE, COLUMN], ...], "more": false}, or {"unparsed": WHY}; "more":
 * the program names more than that. Untrusted: a program that breaks the parser can answer in its place.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RULES_CHECK_ANSWER_H
#define INTERPRETER_RULES_CHECK_ANSWER_H

#include "interpreter/rules/rules.h"

/* Judges what it says. NULL; or why it is none, static: the program is then unparsed, and no finding counts. */
const char *check_answer_read(const struct rules *rules, const char *text, size_t length,
                              struct findings *findings);

#endif
