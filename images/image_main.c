/*
 * code-sandbox-mcp-image: makes images for code-sandbox-mcp, which executes this program for its
 * commands `fetch`, `images add` and `images verify`. The only program that reads archives and
 * talks to a network.
 */
#include "images/add.h"
#include "images/base/digest.h"
#include "images/base/file.h"
#include "images/base/interrupt.h"
#include "images/build/build.h"
#include "images/build/verification.h"
#include "images/registry/source.h"
#include "images/store/catalog.h"
#include "images/store/lock.h"
#include "images/store/store.h"
#include "sandbox/base/options.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"
#include "sandbox/jail/rlimits.h"

#include <iconv.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define PROGRAM "code-sandbox-mcp fetch"
#define EXIT_USAGE 2
#define OPEN_FILES 4096 /* each package stays open between download and unpacking */

struct image_arguments {
    const char *from; /* --from: a file or directory, or a reference */
    const char *lock; /* --locked: a file */
    const char *name; /* --name, or the one name beside --from */
    struct reference reference;
    bool has_reference; /* of --locked */
    struct lock locked; /* of --locked, if it locks packages */
    enum build_source source; /* --source, for images of the catalog */
    bool force, json;
    char **names; /* operands: NULL-terminated */
};

static void arguments_release(struct image_arguments *arguments)
{
    lock_release(&arguments->locked);
}

__attribute__((format(printf, 1, 2))) static int usage_fault(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, PROGRAM ": ");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "; see " PROGRAM " --help\n");
    return EXIT_USAGE;
}

static int apply_source(void *data, const struct option *option, const char *value,
                        struct fault *fault)
{
    struct image_arguments *arguments = data;
    if (strcmp(value, "debian") != 0 && strcmp(value, "registry") != 0)
        return fault_set(fault, EINVAL, "%s is debian or registry, not %s", option->name, value);
    arguments->source = value[0] == 'd' ? SOURCE_DEBIAN : SOURCE_REGISTRY;
    return 0;
}

#define AT(member) .offset = offsetof(struct image_arguments, member)

static const struct option options[] = {
    {"--from", "SOURCE", "make the image from this source", option_keep_text, AT(from)},
    {"--locked", "FILE", "fetch exactly what the lock.json of another\nimage lists",
     option_keep_text, AT(lock)},
    {"--name", "NAME", "the name of the image, as NAME before --from", option_keep_text, AT(name)},
    {"--source", "debian|registry",
     "the origin of an image of the catalog; by\ndefault packages, or a registry where the host\n"
     "has no apt",
     apply_source},
    {"--force", NULL, "make the image again if it exists", option_set_flag, AT(force)},
    {"--json", NULL, "report progress on stdout, one JSON object per\nline", option_set_flag,
     AT(json)},
    {0},
};

static void help_print(void)
{
    size_t count;
    const struct recipe *recipes = recipe_list(&count);
    puts(
        "Usage: " PROGRAM " [--force] NAME...\n"
        "       " PROGRAM " [--force] NAME --from SOURCE\n"
        "\n"
        "Makes the root file systems that snippets run on. A fetch makes the complete image or\n"
        "nothing. An image that exists is kept; the fetch fails if it was made from another SOURCE.\n"
        "\n"
        "Images that can be made from packages:");
    for (size_t i = 0; i < count; i++)
        options_print_words(recipes[i].summary, printf("  %-14s ", recipes[i].name), stdout);
    puts("\nSOURCE is one of:");
    for (const struct image_source *const *source = source_list; *source != NULL; source++)
        printf("  %s\n", (*source)->help);
    puts("\nOptions:");
    options_print(options, stdout);
    options_print_common(stdout);
    puts("\n"
         "Images are kept in $XDG_DATA_HOME/code-sandbox-mcp/images, or without that variable in\n"
         "~/.local/share/code-sandbox-mcp/images.");
}

/* Determines the name of the image: --name, or NAME next to --from. 0 or the exit code. */
static int name_settle(struct image_arguments *arguments)
{
    char **names = arguments->names;
    const bool named = arguments->from != NULL || arguments->lock != NULL;
    if (arguments->from != NULL && arguments->lock != NULL)
        return usage_fault("--from and --locked exclude each other");
    if (!named && arguments->name != NULL)
        return usage_fault("--name goes with --from SOURCE; images of the catalog are named bare");
    if (!named)
        return names[0] != NULL ? 0 : usage_fault("name the image to be made");
    if (arguments->name == NULL && names[0] != NULL) {
        arguments->name = names[0];
        names++;
    }
    if (arguments->name == NULL)
        return usage_fault("--from needs a NAME for the image");
    if (names[0] != NULL)
        return usage_fault("%s cannot be made in the same call as --from", names[0]);
    return 0;
}

static int name_unknown(const char *name)
{
    size_t count;
    const struct recipe *recipes = recipe_list(&count);
    struct spelling spelling = spelling_of(name);
    for (size_t i = 0; i < count; i++)
        spelling_offer(&spelling, recipes[i].name);
    if (spelling.nearest != NULL)
        return usage_fault("there is no image %s in the catalog: did you mean %s?", name,
                           spelling.nearest);
    return usage_fault("there is no image %s in the catalog; one of a registry is fetched "
                       "with: " PROGRAM " %s --from HOST/NAME:TAG",
                       name, name);
}

/*
 * Reads the file of --locked: a lock of packages, or of an image in a registry. 0 or the exit code.
 */
static int lock_settle(struct image_arguments *arguments)
{
    struct fault fault = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(LOCK_MAX);
    int r = file_read(arguments->lock, &text, &fault);
    if (r == -ENOENT)
        return usage_fault("there is no file %s", arguments->lock);
    if (r == 0)
        r = lock_read_packages(text.data, text.length, &arguments->locked, &fault);
    arguments->has_reference = r > 0;
    if (r > 0)
        r = lock_read(text.data, text.length, &arguments->reference, &fault);
    return r < 0 ? usage_fault("%s: %s", arguments->lock, fault.text) : 0;
}

/* Checks that the arguments fit together: 0 or the exit code. */
static int arguments_check(struct image_arguments *arguments)
{
    struct fault fault = {0};
    int status = name_settle(arguments);
    if (status != 0)
        return status;
    if (arguments->name != NULL && image_name_check(arguments->name, &fault) < 0)
        return usage_fault("%s", fault.text);
    if (arguments->lock != NULL)
        return lock_settle(arguments);
    if (arguments->from != NULL)
        return source_check(arguments->from, &fault) < 0
                   ? usage_fault("there is no such file, and %s", fault.text)
                   : 0;
    for (char **name = arguments->names; *name != NULL; name++) {
        const struct recipe *recipe = recipe_find(*name);
        if (recipe == NULL)
            recipe = recipe_of_language(*name);
        if (recipe == NULL)
            return name_unknown(*name);
        *name = (char *)recipe->name;
        if (arguments->source == SOURCE_DEBIAN && recipe->packages == NULL)
            return usage_fault("Debian has no packages for %s; its image comes from a registry",
                               *name);
        if (arguments->source == SOURCE_REGISTRY && recipe->reference == NULL)
            return usage_fault("no registry has an image like %s; it is made of packages only",
                               *name);
    }
    return 0;
}

static int build_one(const char *store, const struct image_arguments *arguments, const char *name)
{
    const struct build build = {
        .store = store,
        .name = name,
        .from = arguments->from,
        .locked = arguments->locked.recipe != NULL ? &arguments->locked : NULL,
        .lock_path = arguments->lock,
        .reference = arguments->has_reference ? &arguments->reference : NULL,
        .source = arguments->source,
        .force = arguments->force,
        .json = arguments->json,
    };
    struct fault fault = {0};
    if (build_image(&build, &fault) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, PROGRAM ": %s: %s\n", name, fault.text);
    return interrupt_signal() != 0 ? 128 + interrupt_signal() : EXIT_FAILURE;
}

static int build_all(const struct image_arguments *arguments)
{
    struct fault fault = {0};
    OWNED_MEMORY char *store = NULL;
    if (store_path(&store, &fault) < 0) {
        fprintf(stderr, PROGRAM ": %s\n", fault.text);
        return EXIT_FAILURE;
    }
    if (arguments->name != NULL)
        return build_one(store, arguments, arguments->name);
    for (char **name = arguments->names; *name != NULL; name++) {
        int status = build_one(store, arguments, *name);
        if (status != EXIT_SUCCESS)
            return status;
    }
    return EXIT_SUCCESS;
}

/*
 * Member names in UTF-8 are read unchanged. The converter is loaded here, because in a jailed child
 * it would be loaded from the untrusted tree.
 */
static void locale_prepare(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    iconv_t converter = iconv_open("UTF-8", "UTF-8");
    if (converter != (iconv_t)-1)
        iconv_close(converter);
}

/* Loads the digests, for the same reason. 0 or the exit code. */
static int digests_prepare(void)
{
    if (digest_prepare() == 0)
        return 0;
    fprintf(stderr, PROGRAM ": this libcrypto cannot compute sha256 and sha512\n");
    return EXIT_FAILURE;
}

static void limits_prepare(void)
{
    struct rlimit limit;
    rlimits_raise();
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < OPEN_FILES) {
        limit.rlim_cur = limit.rlim_max < OPEN_FILES ? limit.rlim_max : OPEN_FILES;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Initialises the process. 0 or the exit code. */
static int process_prepare(void)
{
    umask(022);
    locale_prepare();
    int status = digests_prepare();
    if (status != 0)
        return status;
    limits_prepare();
    interrupt_install();
    return 0;
}

static int fetch_main(int argc, char **argv)
{
    OWNED(arguments_release) struct image_arguments arguments = {.names = argv + 1};
    const struct option_table tables[] = {{options, &arguments}, {0}};
    struct fault fault = {0};
    int operands = 0;
    int r = options_read(tables, argc - 1, argv + 1, &operands, &fault);
    if (r < 0) {
        fprintf(stderr, PROGRAM ": %s\n", fault.text);
        return EXIT_USAGE;
    }
    if (r == OPTIONS_HELP)
        help_print();
    if (r == OPTIONS_VERSION)
        puts("code-sandbox-mcp " PROJECT_VERSION);
    if (r > 0)
        return EXIT_SUCCESS;
    argv[1 + operands] = NULL;
    int status = arguments_check(&arguments);
    if (status == 0)
        status = process_prepare();
    return status != 0 ? status : build_all(&arguments);
}

/* Copies the arguments, because a jail erases the command line, which /proc shows. */
static int arguments_copy(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        argv[i] = strdup(argv[i]);
        if (argv[i] == NULL)
            return -ENOMEM;
    }
    return 0;
}

/* What did not reach stdout, as on a full disk, must not look like success. */
static int output_settle(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "code-sandbox-mcp: writing to stdout failed\n");
    return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}

/* The front end passes the command; the default is "fetch". */
static int command_run(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "add") == 0)
        return add_main(argc - 1, argv + 1, process_prepare);
    if (argc > 1 && strcmp(argv[1], "verify") == 0)
        return verify_main(argc - 1, argv + 1, process_prepare);
    if (argc > 1 && strcmp(argv[1], "fetch") == 0) {
        argc--;
        argv++;
    }
    return fetch_main(argc, argv);
}

int main(int argc, char **argv)
{
    if (arguments_copy(argc, argv) < 0) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return EXIT_FAILURE;
    }
    struct fault fault = {0};
    if (catalog_load(&fault) < 0) {
        fprintf(stderr, "code-sandbox-mcp: %s\n", fault.text);
        return EXIT_USAGE;
    }
    return output_settle(command_run(argc, argv));
}
