/*
 * Process settings that are files in /proc.
 *
 * Side: parent.  Source: proc(5).
 */
#ifndef SANDBOX_JAIL_PROC_FILE_H
#define SANDBOX_JAIL_PROC_FILE_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Writes `text` to /proc/PID/NAME in one write. 0, or a negative errno with a fault that names it.
 */
int proc_file_write(pid_t pid, const char *name, const char *text, struct fault *fault);

/*
 * Finds this process's command line in its memory, as shown by /proc/self/cmdline. The bytes may be
 * overwritten. 0, or a negative errno with a fault.
 */
int proc_file_find_command_line(char **ret_command_line, size_t *ret_size, struct fault *fault);

/* Its parser, for tests. False: not in the format of proc_pid_stat(5). */
bool proc_file_parse_command_line(const char *stat_text, char **ret_command_line, size_t *ret_size);

#endif
