/*
 * The processes below this one, where no namespace holds them together: found by /proc, and signalled one by one.
 *
 * Side: child.  Source: proc_pid_task_children(5) (since Linux 3.5, with CONFIG_PROC_CHILDREN).
 */
#ifndef SANDBOX_JAIL_CHILD_PROCESS_TREE_H
#define SANDBOX_JAIL_CHILD_PROCESS_TREE_H

/*
 * Sends the signal to all processes below this one, parents before their children: a process that has been
 * stopped makes no further ones. 0 or a negative errno, if /proc cannot be read.
 */
int process_tree_signal(int signal);

#endif
