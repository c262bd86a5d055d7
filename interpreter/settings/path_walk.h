/*
 * The way of a path through the file system, as the kernel goes it: path_resolution(7).
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_PATH_WALK_H
#define INTERPRETER_SETTINGS_PATH_WALK_H

#include <stdbool.h>

/*
 * Is told each directory in which a name of the path, or of a link on the way, is looked up: who can write to one
 * of them can lead the path elsewhere. At last, `is_end`, what the path leads to. `real` is absolute and without
 * links. A value other than 0 ends the walk.
 */
typedef int path_visit(void *data, const char *real, bool is_end);

/*
 * Walks `path`, which starts at the working directory unless it is absolute. Where a name is missing, or cannot
 * be looked up, the walk ends without an end. 0; what `visit` returned; or a negative errno: where the path leads
 * cannot be told.
 */
int path_walk(const char *path, path_visit *visit, void *data);

#endif
