/*
 * The report of the changes, for the server: one JSON object.
 *
 *     {"files": [{"path", "status", "added", "removed", "binary", "version"}], "more_files", "left_out":
 *      [{"path", "reason"}], "more_left_out", "patch_bytes"}
 *
 * Paths that are not UTF-8 get replacement characters; only the patch has all bytes.
 *
 * Side: code-sandbox-mcp-changes.
 */
#ifndef INTERPRETER_CHANGES_CHANGES_REPORT_H
#define INTERPRETER_CHANGES_CHANGES_REPORT_H

#include "interpreter/changes/change_list.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

/* 0 or a negative errno. */
int changes_report_write(const struct change_list *changes, size_t patch_bytes,
                         struct buffer *text);

/* The report of a failure: {"fault": "..."}. */
int changes_report_write_fault(const struct fault *fault, struct buffer *text);

#endif
