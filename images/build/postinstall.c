#include "images/build/postinstall.h"

#include "images/base/file.h"
#include "images/build/installer_output.h"
#include "images/build/npm.h"
#include "images/build/pip.h"
#include "images/build/system.h"
#include "images/build/upper_layer.h"
#include "images/unpack/jailed.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define OWN_DIRECTORY "/usr/share/code-sandbox"
#define FONT_DIRECTORY OWN_DIRECTORY "/matplotlib"
#define HOME_LINKS_MAX 16
/*
 * Runs without the packages' .pth files, and with -B: the script's own imports would otherwise be
 * compiled as timestamp-based files, which the later compilation would skip.
 */
#define PYTHON_ALONE "/usr/bin/python3", "-I", "-S", "-B", "-c"

static const char *const program_environment[] = {
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "LC_ALL=C.UTF-8",
    ("MPLCONFIGDIR=" FONT_DIRECTORY),     NULL,
};

/* Lets pip install: no other package manager will ever work on this tree. */
static int unlock_pip(struct fault *fault)
{
    glob_t found = {0};
    if (glob("usr/lib/python3*/EXTERNALLY-MANAGED", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (unlink(found.gl_pathv[i]) < 0)
                fault_set(fault, errno, "cannot remove %s: %m", found.gl_pathv[i]);
    globfree(&found);
    return 0;
}

/* What matplotlib takes characters from that the chosen font lacks: of Chinese, Japanese and Korean; emoji. */
static int name_other_fonts(struct fault *fault)
{
    static const char path[] = "etc/matplotlibrc";
    static const char line[] =
        "\nfont.family: sans-serif, DejaVu Sans, WenQuanYi Micro Hei, Symbola\n";
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
    int r = file_read(path, &text, fault);
    if (r == 0)
        r = buffer_append_text(&text, line);
    return r < 0 ? r : file_write(path, text.data, text.length, fault);
}

static int packages_body(void *data, struct fault *fault)
{
    const struct recipe *recipe = data;
    static int (*const steps[])(struct fault *) = {
        system_provide_directories,
        system_provide_account,
        system_configure,
        system_link_alternatives,
        npm_place,
        unlock_pip,
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(steps); i++)
        r = steps[i](fault);
    if (r == 0 && recipe->fonts)
        r = file_make_directory(FONT_DIRECTORY, 0755, fault);
    if (r == 0 && recipe->fonts)
        r = name_other_fonts(fault);
    if (r == 0)
        r = tree_remove(AT_FDCWD, SETUP_DIRECTORY);
    return r < 0 ? fault_set(fault, -r, "cannot finish the image: %m") : 0;
}

/* Runs a program of the image, if it exists there. */
static int program_pass(const char *root, const char *const *argv, struct fault *fault)
{
    const struct image_jail jail = {.root = root};
    const struct image_program program = {.argv = argv, .environment = program_environment};
    int r = jailed_program(&jail, &program, fault);
    return r > 0 ? 0 : r;
}

/*
 * The root of a run is read-only: without compiled files, every import would compile again. The
 * hash is not checked against the source, which never changes. `tops` is a Python expression for
 * the directories.
 */
static int python_compile(const char *root, const char *tops, struct progress *progress,
                          struct fault *fault)
{
    static const char script[] =
        "import compileall, concurrent.futures, multiprocessing, os, py_compile, site, sys, "
        "sysconfig\n"
        "files = [os.path.join(folder, name) for top in eval(sys.argv[1])\n"
        "         for folder, _, names in os.walk(top) for name in names if name.endswith('.py')]\n"
        "def compile_one(path):\n"
        "    compileall.compile_file(path, quiet=2,\n"
        "        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\n"
        "fork = multiprocessing.get_context('fork')\n" /* others need AF_UNIX */
        "with concurrent.futures.ProcessPoolExecutor(mp_context=fork) as pool:\n"
        "    list(pool.map(compile_one, files, chunksize=32))\n";
    const char *const compile[] = {PYTHON_ALONE, script, tops, NULL};
    progress_step(progress, "compiling Python modules");
    return program_pass(root, compile, fault);
}

/* What else an interpreter or a compiler needs that its packages do when they are installed. */
static int run_prepare(const char *root, const char *const *command, struct progress *progress,
                       struct fault *fault)
{
    const struct image_jail jail = {.root = root};
    const struct image_program program = {.argv = command, .environment = program_environment};
    progress_step(progress, "preparing");
    int r = jailed_program(&jail, &program, fault);
    return r > 0 ? fault_set(fault, ENOENT, "the image has no program %s", command[0]) : r;
}

static int fonts_list(const char *root, struct progress *progress, struct fault *fault)
{
    static const char script[] = "import sys\n"
                                 "sys.path.append('/usr/lib/python3/dist-packages')\n"
                                 "import matplotlib.font_manager\n";
    static const char *const list[] = {PYTHON_ALONE, script, NULL};
    progress_step(progress, "listing fonts");
    return program_pass(root, list, fault);
}

int postinstall_packages(const char *root, const struct postinstall *finish,
                         struct progress *progress, struct fault *fault)
{
    const struct recipe *recipe = finish->recipe;
    const struct pip_request request = {recipe->pip, recipe->pruned, finish->locked, finish->lock,
                                        finish->scratch};
    static const char *const ldconfig[] = {"/usr/sbin/ldconfig", NULL};
    const struct image_jail jail = {
        .root = root,
        .body = packages_body,
        .data = (void *)recipe,
    };
    progress_step(progress, "configuring");
    int r = jailed_run(&jail, NULL, fault);
    if (r == 0)
        r = program_pass(root, ldconfig, fault);
    if (r == 0 && recipe->prepare != NULL && recipe->prepare[0] != NULL)
        r = run_prepare(root, recipe->prepare, progress, fault);
    if (r == 0 && recipe->python)
        r = python_compile(root, "[sysconfig.get_path('stdlib'), '/usr/lib/python3']", progress,
                           fault);
    if (r == 0 && recipe->pip != NULL)
        r = pip_add(root, &request, progress, fault);
    if (r == 0 && recipe->pip != NULL)
        r = python_compile(root, "site.getsitepackages()[:1]", progress, fault);
    return r == 0 && recipe->fonts ? fonts_list(root, progress, fault) : r;
}

static int check_is_root(struct fault *fault)
{
    if (file_exists("usr") || file_exists("bin"))
        return 0;
    return fault_set(fault, EBADMSG, "not a root file system: it has neither /usr nor /bin");
}

static int archive_body(void *data, struct fault *fault)
{
    (void)data;
    int r = check_is_root(fault);
    if (r == 0)
        r = system_provide_directories(fault);
    return r == 0 ? system_provide_account(fault) : r;
}

int postinstall_archive(const char *root, struct fault *fault)
{
    const struct image_jail jail = {.root = root, .body = archive_body};
    return jailed_run(&jail, NULL, fault);
}

/*
 * The version from an installer's record: package.json contains it; .dist-info has it in its name.
 */
static bool recorded_version(const char *pattern, char version[VERSION_SIZE])
{
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_TEXT_MAX);
    glob_t found = {0};
    bool is_there = pattern != NULL && glob(pattern, 0, NULL, &found) == 0 &&
                    (distribution_version(found.gl_pathv[0], version) ||
                     (file_read(found.gl_pathv[0], &text, NULL) == 0 &&
                      npm_record_version(text.data, text.length, version)));
    globfree(&found);
    return is_there;
}

/* As many as there is room for. */
static void list_versions(const char *packages, const struct version_item *item, size_t *count,
                          struct buffer *summary)
{
    int r = 0;
    for (; r == 0 && item != NULL && item->label != NULL; item++) {
        char version[VERSION_SIZE];
        if (!recorded_version(item->record, version) &&
            !status_version(packages, item->package, version))
            continue;
        static const char *const between[] = {"", "; "};
        r = buffer_format(summary, "%s%s %s", *count < 2 ? between[*count] : ", ", item->label,
                          version);
        (*count)++;
    }
}

static void summary_send(const struct recipe *recipe)
{
    OWNED(buffer_release) struct buffer status = BUFFER(FILE_TEXT_MAX);
    OWNED(buffer_release) struct buffer summary = BUFFER(FAULT_TEXT_MAX);
    (void)file_read("var/lib/dpkg/status", &status, NULL);
    const char *packages = buffer_string(&status);
    size_t count = 0;
    list_versions(packages, recipe->versions, &count, &summary);
    list_versions(packages, recipe->libraries, &count, &summary);
    const char *text = buffer_string(&summary);
    image_jail_tell(TOLD_SUMMARY, 0, text != NULL ? text : "");
}

/*
 * matplotlib looks for its list of fonts in $HOME, which is empty in each run: a home link points
 * here.
 */
static void fonts_send(void)
{
    OWNED(file_list_release) struct file_list names;
    file_list_read(FONT_DIRECTORY, ".json", &names);
    for (int i = 0; i < names.count; i++) {
        char text[1024];
        const char *name = names.entries[i]->d_name;
        snprintf(text, sizeof(text), ".cache/matplotlib/%s\n" FONT_DIRECTORY "/%s", name, name);
        image_jail_tell(TOLD_HOME, 0, text);
    }
}

static int inspect_body(void *data, struct fault *fault)
{
    const struct recipe *recipe = data;
    if (recipe != NULL) {
        summary_send(recipe);
        fonts_send();
        /* A cache used only by ldconfig(8), which never runs again here. */
        (void)tree_remove(AT_FDCWD, "var/cache/ldconfig");
    }
    struct tree_size size;
    int r = upper_layer_settle(&size, fault);
    if (r < 0)
        return r;
    image_jail_tell(TOLD_SIZE, (int64_t)size.bytes, "");
    image_jail_tell(TOLD_FILES, (int64_t)size.files, "");
    return 0;
}

/*
 * Stores one home link. The child is not trusted: image_record_read() checks the link before use.
 */
static void home_take(struct image *image, const char *text)
{
    const char *newline = strchr(text, '\n');
    if (newline == NULL || image->home_link_count == HOME_LINKS_MAX)
        return;
    struct home_link *grown =
        reallocarray(image->home_links, image->home_link_count + 1, sizeof(*grown));
    if (grown == NULL)
        return;
    image->home_links = grown;
    OWNED_MEMORY char *path = strndup(text, (size_t)(newline - text));
    OWNED_MEMORY char *target = strdup(newline + 1);
    if (path != NULL && target != NULL)
        grown[image->home_link_count++] =
            (struct home_link){pointer_take(&path), pointer_take(&target)};
}

void postinstall_take_message(void *data, const struct message *message)
{
    struct image *image = data;
    switch (message->what) {
    case TOLD_SUMMARY:
        free(image->summary);
        image->summary = strdup(message->text);
        break;
    case TOLD_HOME:
        home_take(image, message->text);
        break;
    case TOLD_SIZE:
        image->size_bytes = message->number > 0 ? (uint64_t)message->number : 0;
        break;
    case TOLD_FILES:
        image->file_count = message->number > 0 ? (uint64_t)message->number : 0;
        break;
    default:
        break;
    }
}

int postinstall_inspect(const char *root, const struct recipe *recipe, struct image *image,
                        struct fault *fault)
{
    const struct image_jail jail = {
        .root = root,
        .body = inspect_body,
        .data = (void *)recipe,
    };
    const struct subprocess_observer observer = {.message = postinstall_take_message,
                                                 .data = image};
    int r = jailed_run(&jail, &observer, fault);
    if (r == 0 && image->summary == NULL)
        image->summary = strdup("");
    return r;
}
