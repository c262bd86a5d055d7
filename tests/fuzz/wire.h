/*
 * What any client may rely on in the lines that a server sends, and the notes it writes: for the
 * harnesses that feed one.
 */
#ifndef TESTS_FUZZ_WIRE_H
#define TESTS_FUZZ_WIRE_H

#include <stddef.h>

/* Aborts unless the line is a notification of JSON-RPC 2.0, an answer, or an array of them; how many answers it is. */
size_t wire_check_line(const char *line, size_t length);

/*
 * How many answers JSON-RPC owes to a line of a client, when arrays are accepted or refused whole.
 * Told from the specification, not from mcp/base/rpc.c.
 */
size_t wire_answers_owed(const char *line, size_t length, int batches);

#endif
