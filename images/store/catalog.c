#include "images/store/catalog.h"

#include "sandbox/base/owned.h"

#include <string.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* apt does not install essential packages by itself, so they are listed here. */
#define BASE                                                                                       \
    "base-files", "base-passwd", "bash", "coreutils", "dash", "sed", "grep", "findutils", "mawk",  \
        "tar", "gzip", "libc-bin", "ca-certificates", "netbase", "tzdata", "media-types"

#define PIP_MODULES "usr/local/lib/python3*/dist-packages/"
#define PIP_RECORD(name) PIP_MODULES name "-*.dist-info"

/* Used only to install packages and start services: neither happens in a jail. */
#define SYSTEM "dpkg", "debconf", "init-system-helpers", "sysvinit-utils", "lsb-base", "perl-base"

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

static const struct recipe recipes[] = {
    {
        .name = "python",
        .summary = "Python 3.13 with numpy, pandas, scipy, matplotlib, seaborn, scikit-learn, "
                   "statsmodels, libraries for Excel, Word, PDF and HTML, pytest, plotly and "
                   "google-genai",
        .packages = WORDS(BASE, "python3", PYTHON_DATA, PYTHON_PICTURES, PYTHON_FILES, PYTHON_TEXT,
                          PYTHON_WEB, PYTHON_TOOLS),
        /* There is no display (cairo wants one's libraries); pkg-resources is half of setuptools,
           which pip would take for the whole; the others are for compilers, browsers and
           PostScript. */
        .left_out = WORDS(SYSTEM, "x11-common", "python3-tk", "python3-pil.imagetk", "blt",
                          "tk8.6-blt2.5", "python3-rlpycairo", "python3-pkg-resources",
                          "libjs-jquery", "libjs-jquery-ui", "libjs-sphinxdoc", "unicode-data",
                          "python3-pythran", "g++", "cpp", "gcc", "fonts-urw-base35"),
        /* Debian's plotly is 14000 small files, which take over 100 MB once compiled. */
        .pip = WORDS("google-genai", "plotly", "python-pptx"),
        /* For notebooks, and tests. */
        .pruned = WORDS("usr/local/share/jupyter", PIP_MODULES "plotly/labextension",
                        PIP_MODULES "plotly/package_data/widgetbundle.js",
                        PIP_MODULES "plotly/graph_objs/_figurewidget.py",
                        PIP_MODULES "google/genai/tests"),
        /* The description of the tool shows the first 300 bytes: what snippets import most. */
        .versions =
            (const struct version_item[]){
                {"Python", "python3", NULL},
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
            },
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
        .packages = WORDS(BASE, "libstdc++6", "libgcc-s1", "libatomic1"),
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
        .packages = WORDS(BASE, "gawk", "diffutils", "patch", "jq", "bc", "file", "procps",
                          "bsdextrautils", "xz-utils", "bzip2", "zip", "unzip"),
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

const struct recipe *recipe_list(size_t *ret_count)
{
    *ret_count = ARRAY_LENGTH(recipes);
    return recipes;
}

const struct recipe *recipe_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(recipes); i++)
        if (strcmp(recipes[i].name, name) == 0)
            return &recipes[i];
    return NULL;
}
