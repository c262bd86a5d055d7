/*
 * Findings as a SARIF log, for code hosts and editors.
 *
 * Side: parent.  Source: SARIF 2.1.0, OASIS Standard.
 */
#ifndef CLI_SARIF_H
#define CLI_SARIF_H

#include "interpreter/rules/rules.h"
#include "sandbox/base/json.h"

/* Begins the log and its array of results. */
void sarif_begin(struct json_writer *writer, const struct rules *rules);

/* Adds the findings of a file. */
void sarif_add(struct json_writer *writer, const char *path, const struct findings *findings);

void sarif_end(struct json_writer *writer);

#endif
