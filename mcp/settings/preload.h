/*
 * Python's modules that a sandbox made ahead has imported before its code comes (--preload).
 *
 * Python itself imports a module of the name usercustomize at its start, if there is one; ours imports
 * what is wanted, takes away what led to it and fails to be imported, which Python takes for there being
 * none. So what a snippet finds is a fresh Python, but for those modules in sys.modules. Each sandbox
 * imports for itself: no random seed, thread or descriptor is shared.
 *
 * Side: parent.  Source: Python, documentation of the module site.
 */
#ifndef MCP_SETTINGS_PRELOAD_H
#define MCP_SETTINGS_PRELOAD_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/run_spec.h"

/* Its strings are owned. */
struct preload {
    char *text;
    char *variable;
};

/* Whether `modules` are names of modules separated by commas. 0; -EINVAL with a fault. */
int preload_check(const char *what, const char *modules, struct fault *fault);

/*
 * For a program with these variables (NULL-terminated). Nothing is done where `modules` is NULL.
 * 0 or -ENOMEM; release in any case.
 */
int preload_make(struct preload *preload, const char *modules, const char *const *environment);
void preload_release(struct preload *preload);

/* Borrows from it. */
struct run_preparation preload_preparation(const struct preload *preload);

#endif
