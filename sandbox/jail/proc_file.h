/*
 * Settings of a process that are written as files of /proc.
 *
 * Side: parent.  Source: proc(5).
 */
#ifndef SANDBOX_JAIL_PROC_FILE_H
#define SANDBOX_JAIL_PROC_FILE_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes `text` to /proc/PID/NAME in one write. 0, or a negative errno with a fault that names it. */
int proc_file_write(pid_t pid, const char *name, const char *text, struct fault *fault);

/*
 * Where the arguments of this process lie in its memory, as /proc/self/cmdline shows them. The bytes
 * are the process's own and may be written. 0, or a negative errno with a fault.
 */
int proc_file_find_command_line(char **ret_command_line, size_t *ret_size, struct fault *fault);

/* The part of it that reads text, for tests. False: not of the format of proc_pid_stat(5). */
bool proc_file_parse_command_line(const char *stat_text, char **ret_command_line, size_t *ret_size);

#endif
