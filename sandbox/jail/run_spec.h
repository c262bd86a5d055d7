/*
 * What to run, and in which jail.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_RUN_SPEC_H
#define SANDBOX_JAIL_RUN_SPEC_H

#include "sandbox/base/run_paths.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/folders/folder.h"
#include "sandbox/limits/run_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A symbolic link in the fresh $HOME of each run. */
struct home_link {
    const char *path;   /* relative to $HOME, no "." or ".." parts; parents are made */
    const char *target; /* absolute path in the root file system */
};

/* A file in the fresh $HOME of each run. The texts stay until run_hold.release(). */
struct home_file {
    const char *path; /* as in home_link */
    const char *bytes;
    size_t length;
    bool warm_only; /* in prewarmed sandboxes; these come last */
    bool
        is_start; /* for the start of the interpreter, so not for a fork of one; these come last, too */
    bool is_executable;
};

/*
 * How an interpreter becomes a template: files of its home, in the place of those for its start, and the library that it
 * loads (descriptor SESSION_CELLS_FD). Empty: it cannot. The bytes stay until run_hold.release().
 */
struct run_template {
    const struct home_file *files;
    size_t file_count;
    const char *library;
    size_t library_length;
};

/* A file that is put into the work directory before the program begins. */
struct run_input {
    const char *name; /* relative path: run_inputs_check() has the rules */
    const char *bytes;
    size_t length;
    bool is_executable;
};

enum stdin_kind {
    STDIN_EMPTY, /* /dev/null */
    STDIN_BYTES, /* a pipe with these bytes */
    STDIN_DESCRIPTOR, /* a pipe with what can be read from a descriptor of this process */
};

struct run_stdin {
    enum stdin_kind kind;
    const char *bytes;
    size_t length; /* <= STDIN_MAX */
    int fd; /* open and the caller's until done() or engine_cancel(); never the program's own */
};

/* Called once when nothing of the run is left; release may be NULL. */
struct run_hold {
    void (*release)(void *data);
    void *data;
};

/* Everything is borrowed for the call of engine_submit() only, unless it says more. */
struct run_spec {
    const char *image; /* name, for messages and the result */
    const char *rootfs; /* host path of the image's root file system */
    /*
     * NULL; or the two or more layers of the root file system, bottom to top: directories in overlayfs
     * form, as paths below `rootfs`. They must not change before hold.release.
     */
    const char *const *layers;
    struct run_hold hold; /* taken over if engine_submit() succeeds */
    const char *const *
        argv; /* NULL-terminated; argv[0] is looked up in the image's PATH, or is a file of `program` by its path */
    const char *const *arguments; /* NULL-terminated, behind those of argv; or NULL */
    /* NULL-terminated NAME=VALUE added to the jail's own, or NULL; the last of a name counts. */
    const char *const *environment;
    const struct home_link *home_links;
    size_t home_link_count;
    const struct home_file *home_files;
    size_t home_file_count;
    struct run_template template;
    const struct folders *folders; /* of the host, borrowed for the life of the engine; or NULL */
    const char *code_name; /* file name in the work directory: "main.py" */
    const char *packages; /* an empty directory there, for what the program installs; NULL: none */
    const char *code;
    size_t code_length; /* <= CODE_MAX */
    const struct run_input *inputs;
    size_t input_count; /* <= INPUT_FILES_MAX */
    /* A compiled program: further files like those, each with a name of its own; their names are right. */
    const struct run_input *program;
    size_t program_count;
    size_t
        files_max; /* how many files of those that it leaves are kept, <= RUN_FILES_LOOKED_MAX; 0: RUN_FILES_MAX */
    bool has_no_network; /* though the engine has one */
    struct run_stdin stdin_source;
    /*
     * stdout and stderr of the program are one pipe, whose bytes count as those of stdout: they stay in the order
     * in which they were written. Not with may_be_warm, nor in a session.
     */
    bool joins_output;
    const char
        *directory; /* absolute, in the jail: where the program starts; NULL: the work directory */
    /*
     * Of a session: `code` is the program that runs its cells (SESSION_LIVE) or empty; there are no
     * input files, and stdin is that of each cell.
     */
    enum session_kind session;
    bool
        has_calls; /* of a session: its programs call functions, session_spec.calls; not with may_be_warm */
    bool keeps_running; /* between cells and commands; not with a FOLDER_WRITABLE */
    bool joins_session; /* it becomes a further lane of one: engine_add_lane() */
    /*
     * It can be prewarmed: the program reads its code once, from start to end, and looks for none of
     * the input files before.
     */
    bool may_be_warm;
    struct run_limits limits;
    int64_t wall_max_ms; /* the most that limits.wall_ms may be in runs like this; 0: what it is */
};

#endif
