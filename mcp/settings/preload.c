#include "mcp/settings/preload.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY ".preload"
#define VARIABLE "PYTHONPATH"

static const char program[] =
    "def preload():\n"
    "    import os, sys\n"
    "    known = 'atexit' in sys.modules, 'gc' in sys.modules\n"
    "    import atexit, gc\n"
    /* What is frozen may hold what the snippet made, and that may want to be closed at the end. */
    "    def last_of_all():\n"
    "        if any(hasattr(type(it), '__del__') for it in gc.get_objects()):\n"
    "            gc.unfreeze()\n"
    "    atexit.register(last_of_all)\n"
    "    for name, was_there in zip(('atexit', 'gc'), known):\n"
    "        if not was_there:\n"
    "            del sys.modules[name]\n"
    "    here = os.path.dirname(__file__)\n"
    "    before = os.environ.pop('" VARIABLE "', '').partition(':')[2]\n"
    "    if before:\n"
    "        os.environ['" VARIABLE "'] = before\n"
    "    sys.path.remove(here)\n"
    /* What modules print as they are imported is not of the snippet. */
    "    streams = {1: os.dup(1), 2: os.dup(2)}\n"
    "    null = os.open(os.devnull, os.O_WRONLY)\n"
    "    for stream in streams:\n"
    "        os.dup2(null, stream)\n"
    "    for name in '%s'.split(','):\n"
    "        try:\n"
    "            __import__(name)\n"
    "        except BaseException:\n" /* as if it had not been wanted: the snippet will be told */
    "            pass\n"
    "    for stream, former in streams.items():\n"
    "        os.dup2(former, stream)\n"
    "        os.close(former)\n"
    "    os.close(null)\n"
    "    sys.path_importer_cache.pop(here, None)\n"
    "    for place, _, names in os.walk(here, topdown=False):\n"
    "        for name in names:\n"
    "            os.remove(os.path.join(place, name))\n"
    "        os.rmdir(place)\n"
    /* Else the end of the interpreter takes all of it apart, ten times as long as a short run. */
    "    first = sys.modules['__main__']\n"
    "    holders = [it for it in gc.get_referrers(first) if type(it) is dict]\n"
    "    gc.freeze()\n"
    /* What the snippet's names are in is no part of that; sys.modules and modules may have it. */
    "    main = type(sys)('__main__')\n"
    "    main.__dict__.clear()\n"
    "    main.__dict__.update(first.__dict__)\n"
    "    for holder in holders:\n"
    "        for name in [name for name, it in holder.items() if it is first]:\n"
    "            holder[name] = main\n"
    "preload()\n"
    "raise ImportError(name='usercustomize')\n";

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

/* NAME.NAME, each without a digit at its start. */
static bool is_module(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t part = strspn(text + i, letters);
        if (part == 0 || (text[i] >= '0' && text[i] <= '9'))
            return false;
        i += part;
        if (i < length && (text[i] != '.' || i + 1 == length))
            return false;
        i += i < length;
    }
    return length > 0;
}

int preload_check(const char *what, const char *modules, struct fault *fault)
{
    for (const char *name = modules;; name++) {
        size_t length = strcspn(name, ",");
        if (!is_module(name, length))
            return fault_set(
                fault, EINVAL,
                "%s: \"%.*s\" is not the name of a Python module: give names separated by "
                "commas, such as numpy,pandas",
                what, length < 40 ? (int)length : 40, name);
        name += length;
        if (name[0] == '\0')
            return 0;
    }
}

static const char *value_of(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    const char *value = NULL;
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            value = *environment + length + 1;
    }
    return value;
}

int preload_make(struct preload *preload, const char *modules, const char *const *environment)
{
    if (modules == NULL)
        return 0;
    const char *before = value_of(environment, VARIABLE);
    if (asprintf(&preload->text, program, modules) < 0) {
        preload->text = NULL;
        return -ENOMEM;
    }
    if (asprintf(&preload->variable, VARIABLE "=" RUN_HOME "/" DIRECTORY "%s%s",
                 before != NULL ? ":" : "", before != NULL ? before : "") < 0) {
        preload->variable = NULL;
        return -ENOMEM;
    }
    return 0;
}

void preload_release(struct preload *preload)
{
    memory_release(&preload->text);
    memory_release(&preload->variable);
}

struct run_preparation preload_preparation(const struct preload *preload)
{
    if (preload->variable == NULL)
        return (struct run_preparation){0};
    return (struct run_preparation){.path = DIRECTORY "/usercustomize.py",
                                    .text = preload->text,
                                    .variable = preload->variable};
}
