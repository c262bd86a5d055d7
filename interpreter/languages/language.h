/*
 * The languages of snippets: a file NAME.c each of those with sessions, checks or advice, with all that is particular to one,
 * which meson.build lists in the order in which people and clients see them; then those that are data,
 * images/store/language_file.h. No other place knows a language by its name.
 *
 * Constant once it is loaded. Side: parent.
 */
#ifndef INTERPRETER_LANGUAGES_LANGUAGE_H
#define INTERPRETER_LANGUAGES_LANGUAGE_H

#include "images/store/language_file.h"
#include "interpreter/languages/hint.h"
#include "interpreter/languages/names.h" /* of the build: LANGUAGES is LANGUAGE(python, PYTHON) ... */
#include "interpreter/languages/program_start.h"
#include "interpreter/languages/typed.h"
#include "sandbox/session.h"

#include <stdbool.h>
#include <stddef.h>

#define START_CALL_FILES 2
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

enum miss_kind {
    MISS_FILE = 1, /* looked for from where the program starts */
    MISS_IMPORT, /* beside the script, if there is one */
    MISS_MODULE, /* the same: its dots are slashes, and without a script it is looked for as a file is */
};

/* How it says in stderr that a file is missing: the name follows, in '' after any further words. */
struct language_miss {
    const char *before; /* NULL: the end of a list */
    enum miss_kind kind;
    const char *const *endings; /* that may follow the name: {".py", "", NULL} */
};

/* What is amended in code before it runs, as models write it. */
enum code_repair {
    CODE_AS_IT_IS,
    CODE_DEDENTED, /* code_text_dedent() */
    CODE_WITH_NEWLINES, /* code_text_end_lines() */
};

/* How it has sessions.  Source: images/runners. */
struct session_runner {
    const char *kept; /* "variables and files" */
    enum session_kind kind;
    bool interrupted_by_frame;
    /* Of a session that has functions; SESSION_LIVE: not NUL-terminated, session_spec.calls_program */
    const char *calls_program;
    size_t calls_length;
    /* SESSION_FRESH: the first takes the place of `start`, which is there, too; then others, up to START_CALL_FILES. */
    struct home_file calls_files[START_CALL_FILES];
    bool leaves_copies; /* of itself, after cells: session_spec.checkpoints */
    const char *const *argv; /* that starts it, NULL-terminated; NULL: as the language's */
    const char *program; /* not NUL-terminated; empty: the cell itself is the program */
    size_t length;
    /* Each cell of a SESSION_FRESH begins with this file, named by a variable of its own; all zero: none. */
    struct home_file start;
    const char *start_variable; /* "BASH_ENV" */
};

/* How it checks programs by --policy: a session, which needs a runner.  Source: images/runners. */
struct language_check {
    const struct run_input *files; /* there from the first cell on, whose code is `start` */
    size_t file_count;
    const char *start;
    /* Each further cell, with the numbers of the wishes for strings and missing modules, and an array of names. */
    const char *before, *between, *after;
};

struct language {
    const char *name; /* "python", as of its file */
    const char *title; /* "Python" */
    const char *image; /* image it runs on unless the operator names another */
    bool optional; /* hidden if its image is missing */
    bool is_data; /* a file of images/languages, or a person's own: */
    bool is_own;
    const char *const *extensions; /* {".py", NULL}: file names for `run FILE` */
    const char *const *other_names; /* {"py", NULL}: common aliases; or NULL */
    /* Its names in /run_code, that of SandboxFusion first; NULL: its name alone. */
    const char *const *http_names;

    const char *code_name; /* "main.py" */
    const char *const *argv; /* {"python3", "-u", "main.py", NULL} */
    const char *const
        *compile; /* the command before it, {"gcc", "main.c", NULL}; NULL: it is not compiled */
    int64_t compile_ms; /* how long that may take */
    const char *const *environment; /* its own NAME=VALUE; or NULL */
    bool may_be_warm; /* reads its code once: run_spec.may_be_warm */
    const char *probe, *probe_prints; /* a program, and its output */
    /* Input files of which an interpreter that starts beside them knows more; or NULL. */
    const char *const *looked_for;
    /* Where its installer puts packages, if the work directory has it; the image may have one further up. NULL: none. */
    const char *packages;
    const char *module_path; /* variable with further directories of modules; NULL: it has none */
    enum code_repair repair;
    /* What its interpreter does before a snippet; only with it there are templates. NULL: nothing. */
    program_start_make *make_start;
    const struct session_runner *session; /* NULL: it has no sessions */
    enum typed (*judge_typed)(const char *code, size_t length); /* for the prompt of a session */
    const struct language_check *check; /* NULL: it has none */

    /* What models read: of its tool, of its image while that is not there, of "code" and an example of it. */
    const char *description;
    const char *libraries;
    const char *code;
    const char *example;
    const char *silent_hint; /* after a run that printed nothing */
    const struct language_miss *misses; /* or NULL */
    /* Of a mistake, off the end of a failed program's stderr: untrusted. NULL: it knows none of its own. */
    struct hint (*find_hint)(struct hint_span text, const struct run_result *result);
};

/* Each of them by its name, language_python, and its place among `languages`, LANGUAGE_PYTHON. */
#define LANGUAGE(name, place) extern const struct language language_##name;
LANGUAGES
#undef LANGUAGE
enum {
#define LANGUAGE(name, place) LANGUAGE_##place,
    LANGUAGES
#undef LANGUAGE
        LANGUAGE_COUNT,
};

#define LANGUAGES_MAX (LANGUAGE_COUNT + LANGUAGE_FILES_MAX)

/* All of them, in the order in which they are shown. The first LANGUAGE_COUNT have a file NAME.c, and are always there. */
extern const struct language *languages[LANGUAGES_MAX];
extern size_t language_count;

/*
 * Adds those that are data, and their images to the catalog. Once, before there are threads; what is read stays. 0, or a
 * negative errno with a fault that names the file of a person and its key.
 */
int languages_load(struct fault *fault);

/* For language_file_try(): whether its names are free, as far as languages with a file NAME.c go. 0 or -EEXIST with a fault. */
int language_check_names(const struct language_file *file, struct fault *fault);

/* Of lines for a shell; and programs that run them with -c, the best first, the last is everywhere. NULL-terminated. */
extern const struct language *const language_of_shell_lines;
extern const char *const language_shells[];

size_t language_place(const struct language *language);

/* By name or another common name ("py", "js", "node"); NULL when unknown. */
const struct language *language_find(const char *name);

/* The name that is most like a word; NULL: none is. */
const char *language_guess(const char *word);

#define LANGUAGE_NAMES_SIZE 1024

/* The names as a person lists them, "python, javascript or bash", as far as they fit. Returns `text`. */
const char *language_names(char text[LANGUAGE_NAMES_SIZE]);

/* The same of those that have sessions. */
const char *language_session_names(char text[LANGUAGE_NAMES_SIZE]);

#endif
