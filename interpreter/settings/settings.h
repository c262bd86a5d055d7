/*
 * What the operator has set: by options of the command line, variables of the environment and the
 * configuration file, never by the model.
 *
 * The later of these counts: the default, the configuration, the variable, the option. Variables
 * for snippets add up instead (environment.h). See setting.h for what can be set.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_SETTINGS_H
#define INTERPRETER_SETTINGS_SETTINGS_H

#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "interpreter/languages/language.h"
#include "interpreter/settings/environment.h"
#include "interpreter/settings/fleet_settings.h"
#include "interpreter/settings/mount_settings.h"
#include "interpreter/settings/origins.h"
#include "interpreter/settings/overlay_place.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/options.h"
#include "sandbox/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum result_format {
    RESULT_TEXT,       /* plain lines */
    RESULT_JSON,       /* a failure is a JSON object in the text, as from the Python server */
    RESULT_STRUCTURED, /* plain lines, and structuredContent beside them */
};

enum switch_choice {
    SWITCH_OFF,
    SWITCH_AUTO, /* where it can be */
};

/* One option of the command line. */
struct said {
    const struct option *option;
    const char *value; /* borrowed from argv; NULL: of a flag */
};

struct settings {
    struct run_limits limits; /* of each run, unless its call asks for another time */
    struct engine_options
        engine; /* complete but for scope_program; profile is borrowed from below */
    int64_t wall_max_ms;      /* the most that a call may ask for; 0 until settings_read() */
    char *preload;            /* owned; modules that those of Python have imported; or NULL */
    unsigned template;       /* enum switch_choice */
    uint64_t sessions;       /* alive at once; 0: the tools have none */
    int64_t session_idle_ms; /* after which one ends */
    uint64_t compile_cache; /* bytes of compiled programs that are kept; 0: none is */
    uint64_t session_checkpoints; /* kept of each; 0: none is made */
    uint64_t function_calls; /* of functions, that a snippet may make: 1..CALLS_MAX */
    int64_t function_ms; /* that one may take */
    enum result_format result_format;
    bool no_images; /* in results */
    char *files_dir; /* owned; absolute once complete; or NULL */
    char *files_dir_said; /* owned; the same as written, once complete; or NULL */
    bool holds_files_dir;
    int files_dir_fd; /* owned, if it is held: that directory */
    char *metrics_file; /* owned; or NULL */
    char *http;            /* owned; the address to serve at; NULL: stdin and stdout */
    char *http_token_file; /* owned; or NULL */
    char *http_hosts;      /* owned; further names of the server, with commas; or NULL */
    struct log_options log;   /* log.path is owned */
    char *profile_path;       /* owned; NULL: the profile that is part of the program */
    char *profile;            /* owned; what is in that file, checked, once complete */
    char *policy; /* owned; a file of rules, or a preset (interpreter/rules); NULL: none */
    bool require_cgroup, no_cgroup; /* never both, once complete */
    unsigned weakest; /* enum tier: what sandboxes may be where the host allows no better */
    bool lacks_signals; /* snippets can signal nobody: tier L with an old Landlock */
    char *roots; /* owned; the path of engine.roots; NULL: the tier needs none */
    struct environment environment; /* of snippets */
    char *environment_files[ENVIRONMENT_FILES_MAX]; /* owned; those that were read into it */
    size_t environment_file_count;
    struct mounts mounts; /* as written */
    char *mount_under; /* owned; where the project may be; or NULL */
    struct folders folders; /* the same, open and checked, once complete */
    struct overlay_place copies; /* of overlay folders, if there are any */
    char *ca_file; /* owned; of certificates for snippets; NULL: those of the image alone */
    struct fleet_settings fleet; /* of --workers */
    struct buffer certificates; /* the same, read; empty without a network */
    unsigned network_said; /* enum network_mode, or until settings_read() NETWORK_UNSAID */
    char *network_proxy; /* owned; as written; NULL: that of the environment */
    struct policy network; /* of snippets; complete once settings are */
    unsigned network_presets; /* that its rules come from: network_presets_in() */
    char *images[LANGUAGES_MAX]; /* owned; that a language runs on instead of its own, or NULL */
    char *configuration; /* owned; the file that --config names; NULL: the usual one */
    char *configuration_read;  /* owned; the file that was read, NULL while there was none */
    struct said *said;         /* owned; what the command line says, until settings_read() */
    size_t said_count;
    struct origins origins; /* of what is not the default */
};

struct settings settings_default(void);
void settings_release(struct settings *settings);

/*
 * For the options of the table, as option.apply: keeps what the command line says, until what is
 * weaker has been read. The value stays borrowed from argv. 0 or -ENOMEM.
 */
int settings_remember(void *data, const struct option *option, const char *value,
                      struct fault *fault);

/* --config, as option.apply. */
int settings_name_configuration(void *data, const struct option *option, const char *value,
                                struct fault *fault);

/*
 * Whether tools, doctor and the resource speak of the language: of an optional one where the operator
 * names an image for it, or one that has it is there.
 */
bool settings_offer(const struct settings *settings, const struct language *language);

/* Whether it is one for whose sake there is the tool run_code: not where it runs on the image of a language with a tool. */
bool settings_has_own_image(const struct language *language);

/* The directory of compiled programs (interpreter/compile_cache.h), which may not be there. The caller owns the path. 0; -ENOENT: the
 * user has no home; -ENOMEM. */
int settings_compile_cache(char **ret_path);

/*
 * The name of the image that the language runs on: the one that the operator names for it, else its own if that is
 * there, else AGENT_IMAGE. Borrowed from settings or the catalog.
 */
const char *settings_image(const struct settings *settings, const struct language *language);

#endif
