/*
 * Whether the jail of a template has processes that are not ours: what the image has left running when its interpreter
 * started could look at each fork.
 *
 * Side: parent. Source: proc_pid_task_children(5), proc_pid_stat(5).
 */
#ifndef SANDBOX_JAIL_FORKS_TEMPLATE_FAMILY_H
#define SANDBOX_JAIL_FORKS_TEMPLATE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Whether below `init`, that of a template that is ready, there are the template, the two that it is a fork of, what makes a
 * fork of it just now, and of jails of forks only these (pids of their inits), and no threads. Also false if the kernel
 * does not tell.
 */
bool template_family_is_known(pid_t init, const pid_t *forks, size_t count);

#endif
