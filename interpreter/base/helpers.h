/*
 * The other programs of this project, started by this one. They are separate executables because
 * they have different privileges, or link libraries that this program must not load.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_BASE_HELPERS_H
#define INTERPRETER_BASE_HELPERS_H

#define IMAGE_PROGRAM "code-sandbox-mcp-image"
#define IMAGE_FOLDER "images"
#define CHANGES_PROGRAM "code-sandbox-mcp-changes"
#define CHANGES_FOLDER "interpreter/changes"
#define FLEET_PROGRAM "code-sandbox-mcp-fleet"
#define FLEET_FOLDER "fleet"
#define HTTP_PROGRAM "code-sandbox-mcp-http"
#define HTTP_FOLDER "cli"
#define NETWORK_PROGRAM "code-sandbox-mcp-network"
#define NETWORK_FOLDER "sandbox/network/broker"
#define SCOPE_PROGRAM "code-sandbox-mcp-scope"
#define SCOPE_FOLDER "sandbox/scope"

struct helper {
    const char *name; /* "code-sandbox-mcp-image" */
    const char *folder; /* of the build directory: "images" */
};

/* All; ends with one without a name. */
extern const struct helper helpers[];

/*
 * The place where that number of helpers_find() looks for the program, from 0, whether or not it is there. The
 * caller owns the path. 0; -ENOENT: there is no place of that number; another negative errno.
 */
int helpers_place(const struct helper *helper, unsigned number, char **ret_path);

/*
 * Finds a program: in LIBEXEC_DIRECTORY, beside this program, or in `folder` ("images") of the build directory
 * that contains this program. A relative LIBEXEC_DIRECTORY starts at the directory of this program. The
 * caller owns the path. 0; -ENOENT: in none of these places; another negative errno: the search failed.
 */
int helpers_find(const char *name, const char *folder, char **ret_path);

#endif
