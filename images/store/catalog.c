#include "images/store/catalog.h"

#include "images/store/language_file.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>

#include <string.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* apt does not install essential packages by itself, so they are listed here. */
#define BASE                                                                                       \
    "base-files", "base-passwd", "bash", "coreutils", "dash", "sed", "grep", "findutils", "mawk",  \
        "tar", "gzip", "libc-bin", "ca-certificates", "netbase", "tzdata", "media-types"

#define GIT "usr/lib/git-core/"
#define PIP_MODULES "usr/local/lib/python3*/dist-packages/"
#define PIP_RECORD(name) PIP_MODULES name "-*.dist-info"

/* Used only to install packages and start services: neither happens in a jail. */
#define INSTALLERS "dpkg", "debconf", "init-system-helpers", "sysvinit-utils", "lsb-base"
#define SYSTEM INSTALLERS, "perl-base"

/* Of the image `python`, by what they are for. */
#define PYTHON_DATA                                                                                \
    "libopenblas0-pthread", "python3-numpy", "python3-pandas", "python3-scipy", "python3-sklearn", \
        "python3-statsmodels", "python3-networkx", "python3-shapely", "python3-numexpr",           \
        "python3-bottleneck"
#define PYTHON_PICTURES                                                                            \
    "python3-matplotlib", "python3-seaborn", "python3-matplotlib-venn", "python3-wordcloud",       \
        "python3-folium", "python3-qrcode", "fonts-dejavu-core", "fonts-wqy-microhei",             \
        "fonts-symbola"
#define PYTHON_FILES                                                                               \
    "python3-openpyxl", "python3-xlrd", "python3-xlwt", "python3-xlsxwriter", "python3-odf",       \
        "python3-docx", "python3-pypdf", "python3-reportlab", "python3-yaml", "python3-xmltodict", \
        "python3-simplejson", "python3-jsonschema"
#define PYTHON_TEXT                                                                                \
    "python3-bs4", "python3-lxml", "python3-html5lib", "python3-pyquery", "python3-jinja2",        \
        "python3-markdown", "python3-regex", "python3-tabulate", "python3-prettytable",            \
        "python3-texttable", "python3-natsort"
#define PYTHON_WEB                                                                                 \
    "python3-requests", "python3-requests-mock", "python3-flask", "python3-flask-login",           \
        "python3-flask-mail", "python3-flask-restful", "python3-flaskext.wtf", "python3-geopy",    \
        "python3-cryptography", "python3-rsa"
#define PYTHON_TOOLS                                                                               \
    "python3-pip", "python3-venv", "python3-pytest", "python3-psutil", "python3-tqdm", "python3-tz"

#define PYTHON                                                                                     \
    "python3", PYTHON_DATA, PYTHON_PICTURES, PYTHON_FILES, PYTHON_TEXT, PYTHON_WEB, PYTHON_TOOLS
/*
 * There is no display (cairo wants one's libraries); pkg-resources is half of setuptools, which pip would take for the
 * whole; the others are for compilers, browsers and PostScript.
 */
#define PYTHON_LEFT_OUT                                                                            \
    "x11-common", "python3-tk", "python3-pil.imagetk", "blt", "tk8.6-blt2.5", "python3-rlpycairo", \
        "python3-pkg-resources", "libjs-jquery", "libjs-jquery-ui", "libjs-sphinxdoc",             \
        "unicode-data", "python3-pythran", "g++", "cpp", "gcc", "fonts-urw-base35"
/* Debian's plotly is 14000 small files, which take over 100 MB once compiled. */
#define PYTHON_PIP "google-genai", "plotly", "python-pptx"
/* For notebooks, and tests. */
#define PYTHON_PRUNED                                                                              \
    "usr/local/share/jupyter", PIP_MODULES "plotly/labextension",                                  \
        PIP_MODULES "plotly/package_data/widgetbundle.js",                                         \
        PIP_MODULES "plotly/graph_objs/_figurewidget.py", PIP_MODULES "google/genai/tests"
/* Beside BASE: of the image `bash`, and what Node.js of npm needs. */
#define BASH_TOOLS                                                                                 \
    "gawk", "diffutils", "patch", "jq", "bc", "procps", "bsdextrautils", "xz-utils", "bzip2",      \
        "zip", "unzip"
#define NODE_LIBRARIES "libstdc++6", "libgcc-s1", "libatomic1"

/* What snippets import most first: the description of the tool shows the beginning. */
static const struct version_item python_libraries[] = {
    {"numpy", "python3-numpy", NULL},
    {"pandas", "python3-pandas", NULL},
    {"scipy", "python3-scipy", NULL},
    {"matplotlib", "python3-matplotlib", NULL},
    {"seaborn", "python3-seaborn", NULL},
    {"scikit-learn", "python3-sklearn", NULL},
    {"statsmodels", "python3-statsmodels", NULL},
    {"sympy", "python3-sympy", NULL},
    {"networkx", "python3-networkx", NULL},
    {"plotly", NULL, PIP_RECORD("plotly")},
    {"pillow", "python3-pil", NULL},
    {"openpyxl", "python3-openpyxl", NULL},
    {"python-docx", "python3-docx", NULL},
    {"python-pptx", NULL, PIP_RECORD("python_pptx")},
    {"pypdf", "python3-pypdf", NULL},
    {"reportlab", "python3-reportlab", NULL},
    {"beautifulsoup4", "python3-bs4", NULL},
    {"lxml", "python3-lxml", NULL},
    {"requests", "python3-requests", PIP_RECORD("requests")},
    {"pytest", "python3-pytest", NULL},
    {"nltk", NULL},
    {"shapely", "python3-shapely", NULL},
    {"folium", "python3-folium", NULL},
    {"wordcloud", "python3-wordcloud", NULL},
    {"flask", "python3-flask", NULL},
    {"cryptography", "python3-cryptography", PIP_RECORD("cryptography")},
    {"psutil", "python3-psutil", NULL},
    {"pyyaml", "python3-yaml", NULL},
    {"pip", "python3-pip", NULL},
    {"google-genai", NULL, PIP_RECORD("google_genai")},
    {0},
};

static const struct recipe recipes[] = {
    {
        .name = AGENT_IMAGE,
        .summary = "Python 3.13 with the libraries of python, Node.js " NODE_MAJOR
                   " with npm, Bash, git, ripgrep, jq, curl and make",
        .packages = WORDS(BASE, PYTHON, "python-is-python3", NODE_LIBRARIES, BASH_TOOLS, "git",
                          "ripgrep", "curl", "less", "make"),
        .left_out = WORDS(SYSTEM, PYTHON_LEFT_OUT, "perl", "liberror-perl"),
        .pip = WORDS(PYTHON_PIP),
        /* Packages of npm for snippets are the image node's; of git, what serves, and what is in Perl. */
        .pruned =
            WORDS(PYTHON_PRUNED, "node_modules", "usr/lib/node_modules/npm/docs",
                  "usr/lib/node_modules/npm/man", GIT "git-daemon", GIT "git-http-backend",
                  GIT "git-http-push", GIT "git-imap-send", GIT "git-shell", GIT "scalar",
                  GIT "git-send-email", GIT "git-cvs*", "usr/bin/git-shell", "usr/bin/scalar"),
        .versions =
            (const struct version_item[]){
                {"Python", "python3", NULL},
                {"Node.js", "nodejs", NODE_RECORD},
                {"Bash", "bash", NULL},
                {"git", "git", NULL},
                {"ripgrep", "ripgrep", NULL},
                {"jq", "jq", NULL},
                {0},
            },
        .libraries = python_libraries,
        .python = true,
        .fonts = true,
        .node = true,
    },
    {
        .name = "python",
        .summary = "Python 3.13 with numpy, pandas, scipy, matplotlib, seaborn, scikit-learn, "
                   "statsmodels, libraries for Excel, Word, PDF and HTML, pytest, plotly and "
                   "google-genai",
        .packages = WORDS(BASE, PYTHON),
        .left_out = WORDS(SYSTEM, PYTHON_LEFT_OUT),
        .pip = WORDS(PYTHON_PIP),
        .pruned = WORDS(PYTHON_PRUNED),
        .versions = (const struct version_item[]){{"Python", "python3", NULL}, {0}},
        .libraries = python_libraries,
        .python = true,
        .fonts = true,
    },
    {
        .name = "python-slim",
        .summary = "Python 3.13 and its standard library",
        .packages = WORDS(BASE, "python3"),
        .left_out = WORDS(SYSTEM),
        .versions = (const struct version_item[]){{"Python", "python3", NULL}, {0}},
        .python = true,
        .reference = "docker.io/library/python:3.13-slim",
    },
    {
        .name = "node",
        .summary = "Node.js " NODE_MAJOR " with npm and @google/genai",
        .packages = WORDS(BASE, NODE_LIBRARIES),
        .left_out = WORDS(SYSTEM),
        .versions =
            (const struct version_item[]){
                {"Node.js", "nodejs", NODE_RECORD},
                {"npm", "npm", NPM_RECORD},
                {"@google/genai", NULL, GENAI_RECORD},
                {0},
            },
        .node = true,
        .reference = "docker.io/library/node:" NODE_MAJOR "-slim",
    },
    {
        .name = "bash",
        .summary = "Bash with coreutils, grep, sed, gawk, findutils, diffutils, jq, bc and zip",
        .packages = WORDS(BASE, BASH_TOOLS, "file"),
        .left_out = WORDS(SYSTEM),
        .versions =
            (const struct version_item[]){
                {"Bash", "bash", NULL},
                {"coreutils", "coreutils", NULL},
                {"grep", "grep", NULL},
                {"sed", "sed", NULL},
                {"gawk", "gawk", NULL},
                {"findutils", "findutils", NULL},
                {"diffutils", "diffutils", NULL},
                {"jq", "jq", NULL},
                {"bc", "bc", NULL},
                {0},
            },
    },
};

/* All of them, once they are loaded. Of a language that is a file, the image and what is in it stay as long as the program. */
static const struct recipe *all = recipes;
static size_t all_count = ARRAY_LENGTH(recipes);

static const struct recipe *find_among(const struct recipe *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

/* Of a language that Debian does not have. */
static int make_recipe_of_reference(const struct language_file *file, struct recipe *ret_recipe)
{
    static const struct version_item none = {0};
    char *summary = NULL;
    if (asprintf(&summary, "%s: %s", file->title, file->reference) < 0)
        return -ENOMEM;
    *ret_recipe = (struct recipe){
        .name = file->image, .summary = summary, .versions = &none, .reference = file->reference};
    return 0;
}

static int make_recipe(const struct language_file *file, struct recipe *ret_recipe)
{
    if (file->packages[0] == NULL)
        return make_recipe_of_reference(file, ret_recipe);
    static const char *const base[] = {BASE};
    static const char *const left_out[] = {INSTALLERS, NULL};
    size_t count = 0;
    while (file->packages[count] != NULL)
        count++;
    const char **packages = calloc(ARRAY_LENGTH(base) + count + 1, sizeof(*packages));
    struct version_item *versions = calloc(2, sizeof(*versions));
    char *summary = NULL;
    if (packages == NULL || versions == NULL ||
        asprintf(&summary, "%s: package %s of Debian", file->title, file->packages[0]) < 0) {
        free(packages);
        free(versions);
        return -ENOMEM;
    }
    memcpy(packages, base, sizeof(base));
    memcpy(packages + ARRAY_LENGTH(base), file->packages, count * sizeof(*packages));
    versions[0] = (struct version_item){file->title, file->packages[0], NULL};
    *ret_recipe = (struct recipe){
        .name = file->image,
        .summary = summary,
        .packages = packages,
        .prepare = file->prepare,
        .left_out = left_out,
        .versions = versions,
        .reference = file->reference,
    };
    return 0;
}

static int add_recipe(const struct language_file *file, struct recipe *list, size_t *count,
                      struct fault *fault)
{
    if (find_among(list, *count, file->image) != NULL)
        return fault_set(fault, EEXIST,
                         "%s: \"%s\": the image %s is made of others: choose another \"image\", "
                         "or leave it out",
                         file->origin != NULL ? file->origin : file->name,
                         file->packages[0] != NULL ? "packages" : "reference", file->image);
    if (make_recipe(file, &list[*count]) < 0)
        return fault_set(fault, ENOMEM, "reading languages: %m");
    (*count)++;
    return 0;
}

int catalog_load(struct fault *fault)
{
    int r = language_files_load(fault);
    if (r < 0)
        return r;
    struct recipe *list = calloc(ARRAY_LENGTH(recipes) + LANGUAGE_FILES_MAX, sizeof(*list));
    if (list == NULL)
        return fault_set(fault, ENOMEM, "reading languages: %m");
    memcpy(list, recipes, sizeof(recipes));
    size_t count = ARRAY_LENGTH(recipes);
    for (const struct language_file *const *file = language_files(); r == 0 && *file != NULL;
         file++)
        if ((*file)->packages[0] != NULL || (*file)->reference != NULL)
            r = add_recipe(*file, list, &count, fault);
    if (r < 0) {
        free(list);
        return r;
    }
    all = list;
    all_count = count;
    return 0;
}

const struct recipe *recipe_list(size_t *ret_count)
{
    *ret_count = all_count;
    return all;
}

const struct recipe *recipe_find(const char *name)
{
    return find_among(all, all_count, name);
}

const struct recipe *recipe_of_language(const char *name)
{
    for (const struct language_file *const *file = language_files(); *file != NULL; file++)
        if (language_file_is_called(*file, name))
            return recipe_find((*file)->image);
    return NULL;
}
