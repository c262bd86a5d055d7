/*
 * What needs care in folders that snippets may change: files that other programs run or trust, and
 * files that lead to other programs.
 *
 * Protected is what bears a protected name, is a git directory, or is what one of these leads to: by links,
 * by files and settings of git, or because a file has several names. So are other names of folders->own. Names that
 * do not exist cannot be protected by mounts. A second scan after a run tells those that have appeared. Side: parent.
 */
#ifndef SANDBOX_JAIL_FOLDERS_FOLDER_SCAN_H
#define SANDBOX_JAIL_FOLDERS_FOLDER_SCAN_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/folders/folder.h"
#include "sandbox/jail/folders/folder_parts.h"

/*
 * Walks through the folders of mode FOLDER_WRITABLE, without following links or entering other mounts, and
 * fills in their scans, which must be empty. 0; -E2BIG with a fault if a folder has more names, levels or parts
 * than the limits allow; another negative errno with its fault. What was found until then is in the scans.
 * Takes about a second for a million names.
 */
int folder_scan_read(const struct folders *folders, struct folder_scan *scans, struct fault *fault);

#endif
