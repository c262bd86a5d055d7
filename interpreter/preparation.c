#include "interpreter/preparation.h"

#include "interpreter/base/bounds.h"
#include "interpreter/code_reading.h"
#include "interpreter/compiled.h"
#include "interpreter/languages/placeholders.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int preparation_open_image(struct preparer *preparer, const char *name,
                           struct used_image **ret_used, struct fault *fault)
{
    /* All other sources of it are checked when they are read. */
    if (image_name_check(name, NULL) < 0)
        return fault_set(fault, EINVAL,
                         "CONTAINER_IMAGE=%s is not the name of a fetched image: export the "
                         "container's file system as a tar archive, run `code-sandbox-mcp fetch "
                         "--from FILE --name NAME`, and set CONTAINER_IMAGE=NAME",
                         name);
    OWNED_MEMORY char *store = NULL;
    int r = store_path(&store, fault);
    return r < 0 ? r : image_use(&preparer->used, store, name, ret_used, fault);
}

/*
 * The variables of a run: those of the image, of certificates, of the language, then the operator's for it, which count
 * where both have one. The array is the caller's, the strings stay where they are. NULL: no memory.
 */
static const char **merge_environment(const struct preparer *preparer,
                                      const struct snippet *snippet,
                                      struct preparation *preparation)
{
    const struct language *language = snippet->language;
    const struct image *image = &preparation->used->image;
    const struct environment *environment = &preparer->settings->environment;
    const char *const *of_certificates = preparer->certificates[language_place(language)].variables;
    size_t count = 0;
    while (image->environment != NULL && image->environment[count] != NULL)
        count++;
    const char **merged =
        calloc(count + CERTIFICATES_VARIABLES + LANGUAGE_WORDS_MAX + 1 + environment->count + 1,
               sizeof(*merged));
    if (merged == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        merged[i] = image->environment[i];
    for (size_t i = 0; of_certificates != NULL && i < CERTIFICATES_VARIABLES; i++)
        merged[count++] = of_certificates[i];
    for (size_t i = 0; preparation->variables[i] != NULL; i++)
        merged[count++] = preparation->variables[i];
    if (preparation->module_path != NULL)
        merged[count++] = preparation->module_path;
    if (!snippet->is_for_compiler) /* what it makes may be kept for runs with others */
        environment_for(environment, language, merged + count);
    return merged;
}

/* The limit of its memory. */
static uint64_t memory_of(const struct preparer *preparer, const struct snippet *snippet)
{
    uint64_t most = preparer->settings->limits.memory_bytes;
    return snippet->memory_bytes > 0 && snippet->memory_bytes < most ? snippet->memory_bytes : most;
}

/* What the files of a snippet leave of its disk, in whole pages. */
static uint64_t space_beside(const struct snippet *snippet, uint64_t disk)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t taken = (snippet->length + page) / page;
    for (size_t i = 0; i < snippet->input_count; i++)
        taken += (snippet->inputs[i].length + page - 1) / page;
    return disk / page > taken ? (disk / page - taken) * page : 0;
}

/* What all runs of an image have in common. */
struct image_start {
    struct program_start *program; /* owned; NULL: its language has none */
    struct buffer certificates;    /* struct certificates.all */
};

/* What used_image.annex has: those of each language that runs on the image. */
struct image_starts {
    struct image_start *of[LANGUAGES_MAX]; /* owned; NULL: not made yet */
};

static void start_free(struct image_start *start)
{
    if (start == NULL)
        return;
    if (start->program != NULL)
        program_start_release(start->program);
    free(start->program);
    buffer_release(&start->certificates);
    free(start);
}

static void release_starts(void *data)
{
    struct image_starts *starts = data;
    for (size_t i = 0; i < LANGUAGES_MAX; i++)
        start_free(starts->of[i]);
    free(starts);
}

static int make_program_start(const struct preparer *preparer, const struct language *language,
                              const char *const *environment, const struct image *image,
                              struct image_start *start, struct fault *fault)
{
    const struct settings *settings = preparer->settings;
    const struct start_wishes wishes = {
        .modules = settings->preload,
        .figures = !settings->no_images,
        .template = preparer->has_templates && settings->template == SWITCH_AUTO,
        .environment = environment,
    };
    start->program = calloc(1, sizeof(*start->program));
    if (start->program == NULL)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    return language->make_start(image, language->argv[0], &wishes, start->program, fault);
}

static int fill_start(struct preparer *preparer, const struct language *language,
                      const char *const *environment, const struct image *image,
                      struct image_start *start, struct fault *fault)
{
    const struct buffer *certificates = &preparer->certificates[language_place(language)].all;
    /* A copy: runs of an image that has been replaced go on with theirs. */
    start->certificates = BUFFER(certificates->length);
    if (buffer_append(&start->certificates, certificates->data, certificates->length) < 0)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    return language->make_start == NULL
               ? 0
               : make_program_start(preparer, language, environment, image, start, fault);
}

/* Made once for all runs of a language on an image: their variables are the same, too. */
static int prepare_start(struct preparer *preparer, const struct language *language,
                         const char *const *environment, struct used_image *used,
                         const struct image_start **ret_start, struct fault *fault)
{
    struct image_starts *starts = used->annex.data;
    if (starts == NULL) {
        starts = calloc(1, sizeof(*starts));
        if (starts == NULL)
            return fault_set(fault, ENOMEM, "starting a run: %m");
        used->annex = (struct image_annex){starts, release_starts};
    }
    struct image_start **place = &starts->of[language_place(language)];
    int r = 0;
    if (*place == NULL) {
        struct image_start *start = calloc(1, sizeof(*start));
        if (start == NULL)
            return fault_set(fault, ENOMEM, "starting a run: %m");
        *place = start;
        r = fill_start(preparer, language, environment, &used->image, start, fault);
    }
    if (r < 0) {
        start_free(*place);
        *place = NULL;
    }
    *ret_start = *place;
    return r;
}

void preparation_release(struct preparation *preparation)
{
    image_use_end(preparation->held);
    free(preparation->environment);
    for (size_t i = 0; i < ARRAY_LENGTH(preparation->start_variables); i++)
        free(preparation->start_variables[i]);
    for (size_t i = 0; i < preparation->filled_count; i++)
        free(preparation->filled[i]);
    free(preparation->code_name);
    free((void *)preparation->inputs);
    free(preparation->program);
    free(preparation->module_path);
}

/*
 * The files of all runs of an image: certificates, and what the interpreter of a run does before the
 * snippet, if it does anything. Their number, or a negative errno.
 */
static int start_files(struct preparer *preparer, const struct snippet *snippet,
                       struct preparation *preparation, struct fault *fault)
{
    const struct settings *settings = preparer->settings;
    struct home_file *files = preparation->files;
    const struct image_start *start = NULL;
    int r = prepare_start(preparer, snippet->language, preparation->environment, preparation->used,
                          &start, fault);
    if (r < 0 || start == NULL)
        return r;
    size_t count = 0;
    if (start->certificates.length > 0)
        files[count++] = (struct home_file){.path = CERTIFICATES_NAME,
                                            .bytes = start->certificates.data,
                                            .length = start->certificates.length};
    if (start->program == NULL)
        return (int)count;
    const struct start_room room = {
        .figures_cold = code_reading_may_import(snippet->code, snippet->length),
        .space_warm = settings->limits.disk_bytes,
        .space_cold = space_beside(snippet, settings->limits.disk_bytes),
    };
    size_t fitting = program_start_fit(start->program, &room, files + count);
    if (fitting == start->program->count)
        preparation->template = start->program->template;
    return (int)(count + fitting);
}

bool preparation_may_be_warm(const struct snippet *snippet)
{
    const struct language *language = snippet->language;
    if (snippet->joins_output || snippet->directory != NULL)
        return false; /* only of `run`, which prewarms nothing */
    if (snippet->memory_bytes > 0)
        return false; /* clients must not fill the pool with sandboxes of every size */
    for (size_t i = 0; i < snippet->input_count; i++)
        for (const char *const *name = language->looked_for; name != NULL && *name != NULL; name++)
            if (strcmp(snippet->inputs[i].name, *name) == 0)
                return false;
    return language->may_be_warm && code_reading_is_once(snippet->code, snippet->length);
}

/* Owned by the caller; NULL: no memory. */
static char *join(const char *one, const char *between, const char *other)
{
    char *joined = NULL;
    return asprintf(&joined, "%s%s%s", one, between, other) < 0 ? NULL : joined;
}

/*
 * The arguments of the interpreter. If the program does not start beside its code, they have the whole path of that, and
 * modules of the directory are found, too. 0 or -ENOMEM.
 */
static int choose_argv(const struct snippet *snippet, struct preparation *preparation,
                       const char *const **ret_argv)
{
    const struct language *language = snippet->language;
    *ret_argv = language->argv;
    if (snippet->directory == NULL)
        return 0;
    bool has_modules = snippet->program == NULL && language->module_path != NULL;
    preparation->program = snippet->program != NULL ? strdup(snippet->program)
                                                    : join(RUN_WORK, "/", language->code_name);
    if (has_modules)
        preparation->module_path = join(language->module_path, "=", snippet->directory);
    if (preparation->program == NULL || (has_modules && preparation->module_path == NULL))
        return -ENOMEM;
    for (size_t i = 0; i < ARGV_MAX - 1 && language->argv[i] != NULL; i++)
        preparation->argv[i] = strcmp(language->argv[i], language->code_name) == 0
                                   ? preparation->program
                                   : language->argv[i];
    *ret_argv = preparation->argv;
    return 0;
}

/* The word with its values; borrowed from the preparation. NULL: no memory. */
static const char *fill(struct preparation *preparation, const char *word,
                        const struct placeholder_values *values)
{
    char *filled = placeholders_fill(word, values);
    if (filled != NULL)
        preparation->filled[preparation->filled_count++] = filled;
    return filled;
}

/*
 * The same of a language that is data, whose words may depend on the program. Its compiler starts in the work directory, where
 * it leaves what it makes, and reads a program that is a file of the jail from there.
 */
static int choose_words(const struct preparer *preparer, const struct snippet *snippet,
                        struct preparation *preparation, const char *const **ret_argv)
{
    const struct language *language = snippet->language;
    const char *const *words = snippet->is_for_compiler ? language->compile : language->argv;
    bool is_elsewhere = snippet->directory != NULL && !snippet->is_for_compiler;
    const struct placeholder_values values = {
        .of = main_class_find(snippet->code, snippet->length),
        .heap_mib = placeholder_heap_mib(memory_of(preparer, snippet)),
        .work = is_elsewhere ? RUN_WORK : ".",
    };
    preparation->code_name = placeholders_fill(language->code_name, &values);
    preparation->program = snippet->program != NULL ? strdup(snippet->program)
                           : is_elsewhere           ? join(RUN_WORK, "/", preparation->code_name)
                                                    : NULL;
    if (preparation->code_name == NULL ||
        (preparation->program == NULL && (is_elsewhere || snippet->program != NULL)))
        return -ENOMEM;
    for (size_t i = 0; words[i] != NULL; i++) {
        bool is_code = preparation->program != NULL && strcmp(words[i], language->code_name) == 0;
        preparation->argv[i] =
            is_code ? preparation->program : fill(preparation, words[i], &values);
        if (preparation->argv[i] == NULL)
            return -ENOMEM;
    }
    for (size_t i = 0; language->environment[i] != NULL; i++) {
        preparation->variables[i] = fill(preparation, language->environment[i], &values);
        if (preparation->variables[i] == NULL)
            return -ENOMEM;
    }
    *ret_argv = preparation->argv;
    return 0;
}

/* Whether the compiled program has a file of that name, in the place of one that was given. */
static bool is_of_program(const struct compiled *compiled, const char *name)
{
    for (size_t i = 0; i < compiled->file_count; i++)
        if (strcmp(compiled->files[i].name, name) == 0)
            return true;
    return false;
}

/* Whether the command starts a file that the compiler should have left, and has not. */
static bool is_missing(const struct compiled *compiled, const char *program)
{
    static const char *const places[] = {"./", RUN_WORK "/"};
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++)
        if (strncmp(program, places[i], strlen(places[i])) == 0)
            return !is_of_program(compiled, program + strlen(places[i]));
    return false;
}

/* The compiled program, beside the files that were given. */
static int add_program(const struct snippet *snippet, struct preparation *preparation,
                       struct run_spec *spec, struct fault *fault)
{
    struct run_input *inputs = calloc(snippet->input_count + 1, sizeof(*inputs));
    if (inputs == NULL)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    if (is_missing(snippet->compiled, spec->argv[0])) {
        free(inputs);
        return fault_set(fault, ENOENT, "the compiler of %s ended with exit code 0, but left no %s",
                         snippet->language->title, spec->argv[0]);
    }
    preparation->inputs = inputs;
    spec->input_count = 0;
    for (size_t i = 0; i < snippet->input_count; i++)
        if (!is_of_program(snippet->compiled, snippet->inputs[i].name))
            inputs[spec->input_count++] = snippet->inputs[i];
    spec->inputs = inputs;
    spec->program = snippet->compiled->files;
    spec->program_count = snippet->compiled->file_count;
    return 0;
}

/* A compiler has less than the program: no network, and no stdin; its files are the program. */
static void adapt_to_compiler(const struct snippet *snippet, struct run_spec *spec)
{
    spec->limits.wall_ms = snippet_compile_ms(snippet);
    spec->wall_max_ms = 0;
    spec->arguments = NULL;
    spec->stdin_source = (struct run_stdin){.kind = STDIN_EMPTY};
    spec->joins_output = false;
    spec->directory = NULL;
    spec->packages = NULL;
    spec->has_no_network = true;
    spec->files_max = COMPILED_FILES_MAX;
}

/* Opens the image, unless a session holds it. */
static int open_used(struct preparer *preparer, const struct snippet *snippet,
                     struct preparation *preparation, struct fault *fault)
{
    const struct settings *settings = preparer->settings;
    const struct language *language = snippet->language;
    int r = 0;
    if (preparation->used == NULL) {
        const char *image =
            snippet->image != NULL ? snippet->image : settings_image(settings, language);
        r = preparation_open_image(preparer, image, &preparation->held, fault);
        preparation->used = preparation->held;
    }
    if (r < 0 || preparation->used == NULL || settings->certificates.length == 0)
        return r;
    return certificates_update(&preparer->certificates[language_place(language)], preparation->used,
                               &settings->certificates, fault);
}

static void lower_limits(const struct preparer *preparer, const struct snippet *snippet,
                         struct run_spec *spec)
{
    if (snippet->wall_ms > 0)
        spec->limits.wall_ms = snippet->wall_ms;
    spec->limits.memory_bytes = memory_of(preparer, snippet);
    if (snippet->is_for_compiler)
        adapt_to_compiler(snippet, spec);
}

int preparation_make(struct preparer *preparer, const struct snippet *snippet,
                     struct preparation *preparation, struct run_spec *ret_spec,
                     struct fault *fault)
{
    const struct settings *settings = preparer->settings;
    const struct language *language = snippet->language;
    int r = open_used(preparer, snippet, preparation, fault);
    if (r < 0 || preparation->used == NULL)
        return r;
    const struct image *image = &preparation->used->image;
    const char *const *argv = NULL;
    r = language->is_data ? choose_words(preparer, snippet, preparation, &argv)
                          : choose_argv(snippet, preparation, &argv);
    if (r < 0)
        return fault_set(fault, -r, "starting a run: %m");
    preparation->environment = merge_environment(preparer, snippet, preparation);
    if (preparation->environment == NULL)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    int file_count = start_files(preparer, snippet, preparation, fault);
    if (file_count < 0)
        return file_count;
    *ret_spec = (struct run_spec){
        .image = image->name,
        .rootfs = image->rootfs,
        .layers = (const char *const *)image->layer_names,
        .hold = {image_use_end, preparation->used},
        .argv = argv,
        .arguments = snippet->arguments,
        .environment = preparation->environment,
        .home_links = image->home_links,
        .home_link_count = image->home_link_count,
        .home_files = preparation->files,
        .home_file_count = (size_t)file_count,
        .template = preparation->template,
        .folders = &preparer->settings->folders,
        .code_name = preparation->code_name != NULL ? preparation->code_name : language->code_name,
        .packages = settings->network.mode != NETWORK_OFF ? language->packages : NULL,
        .code = snippet->code,
        .code_length = snippet->length,
        .inputs = snippet->inputs,
        .input_count = snippet->input_count,
        .stdin_source = snippet->stdin_source,
        .joins_output = snippet->joins_output,
        .directory = snippet->directory,
        .limits = settings->limits,
        .wall_max_ms = settings->wall_max_ms,
    };
    lower_limits(preparer, snippet, ret_spec);
    return snippet->compiled != NULL ? add_program(snippet, preparation, ret_spec, fault) : 0;
}
