/*
 * Names of files that make other programs run commands, and what each needs in a folder that snippets
 * may change.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FOLDERS_PROTECTED_NAMES_H
#define SANDBOX_JAIL_FOLDERS_PROTECTED_NAMES_H

#include "sandbox/jail/child/folder_mode.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a directory is, which decides about the names in it. */
enum region {
    REGION_PLAIN,
    REGION_GITHUB, /* a .github directory */
    REGION_PROTECTED,
};

/* The region of a directory of this name; *ret_care: what it needs itself. */
enum region protected_names_enter(enum region region, const char *name, enum folder_care *ret_care);

/* What a file or link of this name needs. */
enum folder_care protected_names_care(enum region region, const char *name);

/* Whether it is one of the names, wherever that is. */
bool protected_names_have(const char *name);

/* One after the other, but for those of lefthook; NULL: no more. */
const char *protected_names_at(size_t i);

#endif
