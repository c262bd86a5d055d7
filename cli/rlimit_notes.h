/*
 * Hard limits of this process that leave runs less than they need (sandbox/jail/rlimits.h), in words.
 *
 * Side: parent.
 */
#ifndef CLI_RLIMIT_NOTES_H
#define CLI_RLIMIT_NOTES_H

#include "cli/doctor.h"
#include "sandbox/base/json.h"

/* A line of doctor's for each. */
void rlimit_notes_print(const struct run_limits *limits,
                        void (*print)(enum verdict verdict, const char *what, const char *text));

/* Writes the value of a member: an array of them. */
void rlimit_notes_write(struct json_writer *writer, const struct run_limits *limits);

/* One note in the log, if there are any. */
void rlimit_notes_log(const struct run_limits *limits);

#endif
