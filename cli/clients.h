/*
 * MCP clients that a user of this computer may have, and how each is told of the server.
 *
 * Side: parent.
 */
#ifndef CLI_CLIENTS_H
#define CLI_CLIENTS_H

#include <stdio.h>

/*
 * Prints a line for each client that is found, in PATH or by its directory below the home: a command, or
 * a file and its JSON. Nothing is changed. `server`: the command of the server, a name or a path. Without
 * a client, prints what most of them take.
 */
void clients_print(const char *server, FILE *stream);

/* Whether PATH has an executable file of that name; then it is `ret_path`, which the caller owns. */
int clients_find_program(const char *name, char **ret_path);

#endif
