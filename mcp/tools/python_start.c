#include "mcp/tools/python_start.h"

#include "images/runners/python/figures-program.h"
#include "images/runners/python/preload-program.h"
#include "images/runners/python/start-program.h"
#include "images/store/image_program.h"
#include "mcp/base/bounds.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIGURES_FORMAT                                                                             \
    "%.*s\nconfigure(directory='" RUN_HOME "/" RUN_FIGURES_PATH "', work_directory='" RUN_WORK     \
    "', depth=%d, pictures=%d, bytes=%d, side=%d)\n"

/* Executes preload.py. Its end is the names of the modules: preload_check() has seen to no quote in them. */
#define PRELOAD_LINE                                                                               \
    "import site; space = {}; exec(open(site.USER_SITE + '/preload.py').read(), space); "          \
    "space['preload']('%s'.split(','))\n"

/* python3.N, with t of an interpreter without a global lock. */
static bool is_versioned(const char *name)
{
    static const char prefix[] = "python3.";
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return false;
    size_t digits = strspn(name + strlen(prefix), "0123456789");
    const char *rest = name + strlen(prefix) + digits;
    return digits > 0 && digits <= 3 && (rest[0] == '\0' || strcmp(rest, "t") == 0);
}

/* NULL: no memory. */
__attribute__((format(printf, 2, 3))) static const char *own_text(struct python_start *start,
                                                                  const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (text != NULL)
        start->texts[start->text_count++] = text;
    return text;
}

/* `text` is owned by `start`. */
static int add_file(struct python_start *start, const char *version, const char *name,
                    const char *text, bool warm_only)
{
    const char *path = own_text(start, ".local/lib/%s/site-packages/%s", version, name);
    if (path == NULL || text == NULL)
        return -ENOMEM;
    start->files[start->count++] = (struct home_file){path, text, warm_only};
    return 0;
}

static int add_figures(struct python_start *start, const char *version, bool warm_only)
{
    const char *line = own_text(start, "%.*s", (int)sizeof(start_program), start_program);
    const char *text =
        own_text(start, FIGURES_FORMAT, (int)sizeof(figures_program), figures_program,
                 RUN_FILE_DEPTH_MAX, RUN_FIGURES_MAX, (int)IMAGES_BYTES_MAX, IMAGE_SIDE_MAX);
    int r = add_file(start, version, "start.pth", line, warm_only);
    return r < 0 ? r : add_file(start, version, "figures.py", text, warm_only);
}

/* Python goes through .pth files by their names: this one comes first. */
static int add_preload(struct python_start *start, const char *version, const char *modules)
{
    const char *line = own_text(start, PRELOAD_LINE, modules);
    const char *text = own_text(start, "%.*s", (int)sizeof(preload_program), preload_program);
    int r = add_file(start, version, "preload.pth", line, true);
    return r < 0 ? r : add_file(start, version, "preload.py", text, true);
}

int python_start_make(const struct image *image, const char *program,
                      const struct python_wishes *wishes, struct python_start *start,
                      struct fault *fault)
{
    *start = (struct python_start){0};
    OWNED_MEMORY char *version = NULL;
    if (wishes->modules == NULL && !wishes->figures)
        return 0;
    int r = image_program_name(image, program, &version, fault);
    if (r != 0 || !is_versioned(version))
        return r < 0 ? r : 0;
    r = wishes->figures ? add_figures(start, version, !wishes->figures_cold) : 0;
    if (r == 0 && wishes->modules != NULL)
        r = add_preload(start, version, wishes->modules);
    return r < 0 ? fault_set(fault, -r, "out of memory") : 0;
}

void python_start_release(struct python_start *start)
{
    for (size_t i = 0; i < start->text_count; i++)
        free(start->texts[i]);
    start->text_count = 0;
}
