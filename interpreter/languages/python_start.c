#include "interpreter/languages/python_start.h"

#include "images/runners/python/figures-program.h"
#include "images/runners/python/preload-program.h"
#include "images/runners/python/start-bytecode.h"
#include "images/runners/python/start-program.h"
#include "images/runners/python/template-library.h"
#include "images/runners/python/template-program.h"
#include "images/store/image_program.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What bytecode.py calls CONSTANT: bytes, for which the program of figures.py is put. */
#define CONSTANT "@figures@"
#define HOOK_SIZE_MAX (128 * KIBIBYTE)

#define FIGURES_FORMAT                                                                             \
    "%.*s\nconfigure(directory='" RUN_HOME "/" RUN_FIGURES_PATH "', work_directory='" RUN_WORK     \
    "', depth=%d, pictures=%d, counted=%d, bytes=%d, side=%d)\n"

/* preload_check() has seen to no quote in the names of the modules. */
#define PRELOAD_FORMAT "%.*s\npreload('%s'.split(','))\n"
#define TEMPLATE_FORMAT "%.*s\nmake_template([it for it in '%s'.split(',') if it])\n"
#define PRELOAD_NAME "preload.py" /* what start.py looks for */

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

/* `text` becomes owned by `start`, unless it is NULL. */
static char *own(struct program_start *start, char *text)
{
    if (text != NULL)
        start->texts[start->text_count++] = text;
    return text;
}

/* NULL: no memory. */
__attribute__((format(printf, 2, 3))) static char *own_text(struct program_start *start,
                                                            const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return own(start, text);
}

/* bytes: owned by `start`, or NULL for want of memory. */
static int make_file(struct program_start *start, const char *version, const char *name,
                     struct home_file *file)
{
    file->is_start = true;
    file->path = own_text(start, ".local/lib/%s/site-packages/%s", version, name);
    return file->path == NULL || file->bytes == NULL ? -ENOMEM : 0;
}
/* Source of marshal, r_string(): the length, in 32 bits that begin with the lowest; and the bytes. */
static int append_constant(struct buffer *file, const char *bytes)
{
    size_t length = strlen(bytes);
    const unsigned char size[] = {(unsigned char)length, (unsigned char)(length >> 8),
                                  (unsigned char)(length >> 16), (unsigned char)(length >> 24)};
    int r = buffer_append(file, size, sizeof(size));
    return r < 0 ? r : buffer_append(file, bytes, length);
}

static int append_escaped(struct buffer *file, const char *bytes)
{
    int r = 0;
    for (; *bytes != '\0' && r == 0; bytes++)
        r = buffer_format(file, "\\x%02x", (unsigned char)*bytes);
    return r;
}

/* Of a version without bytecode. */
static int write_source(struct buffer *file, const char *figures)
{
    const char *end = start_program + sizeof(start_program);
    const char *constant = memmem(start_program, sizeof(start_program), CONSTANT, strlen(CONSTANT));
    if (constant == NULL)
        return -EINVAL;
    const char *rest = constant + strlen(CONSTANT);
    int r = buffer_append(file, start_program, (size_t)(constant - start_program));
    if (r == 0)
        r = append_escaped(file, figures);
    return r < 0 ? r : buffer_append(file, rest, (size_t)(end - rest));
}

static int write_compiled(struct buffer *file, const struct start_bytecode *bytecode,
                          const char *figures)
{
    int r = buffer_append(file, bytecode->head, bytecode->head_length);
    if (r == 0)
        r = append_constant(file, figures);
    return r < 0 ? r : buffer_append(file, bytecode->tail, bytecode->tail_length);
}

/* NULL: none is compiled for this version. */
static const struct start_bytecode *find_bytecode(const char *version)
{
    for (size_t i = 0; i < ARRAY_LENGTH(start_bytecodes); i++) {
        if (strcmp(start_bytecodes[i].version, version) == 0)
            return &start_bytecodes[i];
    }
    return NULL;
}

/* start.py, with the text of figures.py, "" for none. A compiled file needs no source beside it. */
static int make_hook(struct program_start *start, const char *version, const char *figures,
                     struct home_file *ret_file)
{
    OWNED(buffer_release) struct buffer file = BUFFER(HOOK_SIZE_MAX);
    const struct start_bytecode *bytecode = find_bytecode(version);
    int r =
        bytecode != NULL ? write_compiled(&file, bytecode, figures) : write_source(&file, figures);
    if (r < 0)
        return r;
    *ret_file = (struct home_file){.length = file.length};
    ret_file->bytes = own(start, pointer_take(&file.data));
    return make_file(start, version, bytecode != NULL ? "usercustomize.pyc" : "usercustomize.py",
                     ret_file);
}

static int make_program(struct program_start *start, const char *version, const char *text,
                        struct home_file *ret_file)
{
    *ret_file = (struct home_file){
        .bytes = text, .length = text != NULL ? strlen(text) : 0, .warm_only = true};
    return make_file(start, version, PRELOAD_NAME, ret_file);
}

/* In the place of what would only preload. Only versions that it has been tried with. */
static int add_template(struct program_start *start, const char *version, const char *modules,
                        const struct home_file *hook)
{
    /* In 3.9 each module atexit has handlers of its own. */
    if (find_bytecode(version) == NULL || strcmp(version, "python3.9") == 0)
        return 0;
    const char *text = own_text(start, TEMPLATE_FORMAT, (int)sizeof(template_program),
                                template_program, modules != NULL ? modules : "");
    start->template_files[0] = *hook;
    int r = make_program(start, version, text, &start->template_files[1]);
    if (r == 0)
        start->template = (struct run_template){start->template_files, PROGRAM_START_FILES_MAX,
                                                template_library, sizeof(template_library)};
    return r;
}

static int add_files(const struct start_wishes *wishes, const char *version,
                     struct program_start *start)
{
    const char *figures =
        !wishes->figures ? ""
                         : own_text(start, FIGURES_FORMAT, (int)sizeof(figures_program),
                                    figures_program, RUN_FILE_DEPTH_MAX, RUN_FIGURES_MAX,
                                    RUN_FIGURES_COUNTED_MAX, (int)IMAGES_BYTES_MAX, IMAGE_SIDE_MAX);
    if (figures == NULL)
        return -ENOMEM;
    start->has_figures = wishes->figures;
    struct home_file hook;
    int r = make_hook(start, version, figures, &hook);
    if (r == 0 && (wishes->figures || wishes->modules != NULL))
        start->files[start->count++] = hook;
    if (r == 0 && wishes->modules != NULL)
        r = make_program(start, version,
                         own_text(start, PRELOAD_FORMAT, (int)sizeof(preload_program),
                                  preload_program, wishes->modules),
                         &start->files[start->count++]);
    return r < 0 || !wishes->template ? r : add_template(start, version, wishes->modules, &hook);
}

/* The value that counts, the last one; or NULL. */
static const char *value_of(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    const char *value = NULL;
    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            value = *environment + length + 1;
    return value;
}

static bool is_set(const char *const *environment, const char *name)
{
    const char *value = value_of(environment, name);
    return value != NULL && value[0] != '\0';
}

/* Whether Python looks for the user's packages where the files would be. */
static bool is_looked_at(const char *const *environment)
{
    const char *home = value_of(environment, "HOME");
    return (home == NULL || strcmp(home, RUN_HOME) == 0) &&
           !is_set(environment, "PYTHONNOUSERSITE") && !is_set(environment, "PYTHONUSERBASE");
}

int python_start_make(const struct image *image, const char *program,
                      const struct start_wishes *wishes, struct program_start *start,
                      struct fault *fault)
{
    *start = (struct program_start){0};
    OWNED_MEMORY char *version = NULL;
    bool is_wanted = wishes->modules != NULL || wishes->figures || wishes->template;
    if (!is_wanted || !is_looked_at(wishes->environment))
        return 0;
    int r = image_program_name(image, program, &version, fault);
    if (r != 0 || !is_versioned(version))
        return r < 0 ? r : 0;
    r = add_files(wishes, version, start);
    return r < 0 ? fault_set(fault, -r, "preparing the start of %s: %m", version) : 0;
}
