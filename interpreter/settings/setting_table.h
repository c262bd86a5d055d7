/*
 * The settings one by one: the one table of what the operator can set. Its rows are options of the
 * command line, and each can also be set by a variable of the environment and a key of the
 * configuration file.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_SETTING_TABLE_H
#define INTERPRETER_SETTINGS_SETTING_TABLE_H

#include "interpreter/settings/settings.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a value looks like, and the type of the member of struct settings that it goes to. */
enum setting_kind {
    SETTING_SIZE,       /* "512M"; uint64_t bytes */
    SETTING_COUNT,      /* "256"; uint64_t */
    SETTING_SECONDS,    /* "2.5", "5m"; int64_t milliseconds */
    SETTING_PROCESSORS, /* "0.5"; uint32_t thousandths */
    SETTING_CHOICE,     /* one of `choices`; an enum that counts them from 0 */
    SETTING_FLAG,       /* no value on the command line, "1" or "0" in a variable; bool */
    SETTING_PATH,       /* of a file that is read or written, ~/ being the home; owned char * */
    SETTING_PLACE,      /* of a directory that others are compared with; the same */
    SETTING_TEXT,       /* any; the same */
    SETTING_MODULES,    /* of Python, "numpy,pandas"; owned char * */
    SETTING_IMAGE,      /* the name of one; owned char * */
    /* These go to the environment of snippets, and add up. */
    SETTING_NAMES,            /* "A,B", of variables of our own environment */
    SETTING_ENVIRONMENT,      /* "NAME=VALUE" */
    SETTING_ENVIRONMENT_FILE, /* of such lines */
    SETTING_HOSTS, /* "HOST,HOST:PORT", to the rules of the network of kind `low`; the same */
    SETTING_MOUNT, /* "FOLDER:MODE@/PATH"; these add up, too */
};

struct setting {
    enum setting_kind kind;
    const char *variable; /* "SANDBOX_MEMORY"; NULL: it has none */
    const char *key;      /* "memory" */
    size_t offset;        /* of its member in struct settings */
    uint64_t low, high;   /* of a number, in the member's unit */
    const char *const *choices;
    const char *form; /* of the value of its key, where it is not that of the kind */
    const char *meaning; /* of its key, where the text of the option does not fit */
    bool is_written; /* a file that the server makes, or a directory that it fills */
    /* Other programs read that variable too: what is wrong in it is noted, and is no error. */
    bool is_shared_variable;
};

/*
 * Those of each run, of many calls, of calls that others run, of the way to a broker, and of serving alone;
 * their data is the struct settings.
 */
extern const struct option settings_of_runs[];
extern const struct option settings_of_many[];
extern const struct option settings_of_callers[];
extern const struct option settings_of_broker[];
extern const struct option settings_of_server[];

/* Those that a server has, for a table of option tables. */
#define SETTINGS_OF_ALL                                                                            \
    settings_of_runs, settings_of_many, settings_of_server, settings_of_callers, settings_of_broker

/* All, for who needs each of them; ends with NULL. */
extern const struct option *const setting_tables[];

/* Whether values of an option, a variable and a key are in force together. */
bool setting_adds_up(const struct setting *setting);

/*
 * Reads the value as the kind of the setting says, and sets it. `what` is how a fault calls it:
 * "--memory", "SANDBOX_MEMORY". 0; -EINVAL with a fault that tells what would be right; -ENOMEM.
 */
int setting_set(struct settings *settings, const struct setting *setting, const char *what,
                const char *value, struct fault *fault);

#endif
