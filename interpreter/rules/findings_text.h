/*
 * Findings in words, and in JSON.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RULES_FINDINGS_TEXT_H
#define INTERPRETER_RULES_FINDINGS_TEXT_H

#include "interpreter/rules/rules.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/json.h"

#include <stdint.h>

#define FINDINGS_SHOWN 10

/* "line 3 uses subprocess.run (rule no-process): MESSAGE". 0, -ENOBUFS or -ENOMEM. */
int findings_text_describe(const struct finding *finding, struct buffer *text);

/*
 * A line for each finding of that severity, FINDINGS_SHOWN at most, each behind `prefix`: "Not run: line 3 uses
 * ...". Without a final newline. The same.
 */
int findings_text_list(const struct findings *findings, enum severity severity, const char *prefix,
                       struct buffer *text);

/* The array of the findings, with rule, line, column, severity, what and message. */
void findings_text_write(struct json_writer *writer, const struct findings *findings);

/* What a worker tells of a check: an object of the findings, what was not checked or null, and nanoseconds. */
void findings_text_carry(struct json_writer *writer, const struct findings *findings, int64_t ns);

/* No fewer bytes than the list of findings takes there. */
size_t findings_text_room(const struct findings *findings);

/*
 * Reads that object, which a worker has sent: untrusted. `findings` is empty, and the caller's to release in any case. 0;
 * -EINVAL: it is no such object; -ENOMEM.
 */
int findings_text_read_carried(const struct buffer *text, struct findings *findings,
                               int64_t *ret_ns);

#endif
