#include "images/build/install.h"

#include "images/base/url_user.h"
#include "images/build/install_apt.h"
#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>

#define NPM_ASIDE "/usr/share/code-sandbox/npm"

/* The words of a command line. The bound is far below the kernel's limit. */
struct installed_words {
    const char *list[512];
    size_t count;
};

static int words_add(struct installed_words *words, const char *const *more, struct fault *fault)
{
    for (; *more != NULL; more++) {
        if (words->count == ARRAY_LENGTH(words->list) - 1)
            return fault_set(fault, E2BIG, "too much for one command: add it in several");
        words->list[words->count++] = *more;
    }
    words->list[words->count] = NULL;
    return 0;
}

/*
 * pip first reports what it would install, then installs exactly that. In between: Debian packages
 * have no RECORD, and pip does not replace a package without one. With a RECORD of the metadata
 * alone pip considers the package removed; the new one below /usr/local is found before the
 * remains.
 */
static const char pip_script[] =
    "import importlib.metadata, json, os, re, subprocess, sys\n"
    "work = '/var/tmp/pip-'\n"
    "options, wanted = sys.argv[1:sys.argv.index('--')], sys.argv[sys.argv.index('--'):]\n"
    "def pip(*words):\n"
    "    done = subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', *words],\n"
    "                          stdout=sys.stderr)\n"
    "    if done.returncode != 0:\n"
    "        sys.exit(done.returncode)\n"
    "def plain(name):\n"
    "    return re.sub('[-_.]+', '-', name or '').lower()\n"
    /* pip's report has no logins. */
    "logins = {scheme + host: login for scheme, login, host in\n"
    "          re.findall(r'(\\w+://)([^/\\s]+@)([^/\\s@]+)', ' '.join(wanted))}\n"
    "def with_login(url):\n"
    "    scheme, host = re.match(r'(\\w+://)([^/]*)', url).groups()\n"
    "    return scheme + logins.get(scheme + host, '') + url[len(scheme):]\n"
    "def resolve():\n"
    "    pip('--dry-run', '--report', work + 'report', *options, *wanted)\n"
    "    lines, hashes = [], []\n"
    "    for package in json.load(open(work + 'report'))['install']:\n"
    "        about, source = package['metadata'], package['download_info']\n"
    "        digest = source.get('archive_info', {}).get('hashes', {}).get('sha256')\n"
    "        line = f\"{about['name']}=={about['version']}\"\n"
    "        if package['is_direct']:\n"
    "            url = with_login(source['url'])\n"
    "            digest, line = None, f\"{about['name']} @ {url}\"\n"
    "            if 'vcs_info' in source:\n"
    "                vcs = source['vcs_info']\n"
    "                line = f\"{about['name']} @ {vcs['vcs']}+{url}@{vcs['commit_id']}\"\n"
    "        lines.append(line)\n"
    "        hashes.append(f' --hash=sha256:{digest}' if digest else '')\n"
    "    return list(map(str.__add__, lines, hashes)) if all(hashes) else lines\n"
    "locked = ' --hash=' in wanted[1]\n"
    "lines = wanted[1:] if locked else resolve()\n"
    "names = {plain(re.split('==| @ ', line)[0]) for line in lines}\n"
    "for found in importlib.metadata.distributions():\n"
    "    path = str(getattr(found, '_path', ''))\n"
    "    if plain(found.metadata['Name']) not in names:\n"
    "        continue\n"
    "    if path.endswith('.egg-info') and os.path.isfile(path):\n"
    "        os.unlink(path)\n"
    "    elif path.endswith('.dist-info') and not os.path.exists(path + '/RECORD'):\n"
    "        base = os.path.basename(path)\n"
    "        record = [f'{base}/{name},,\\n' for name in ['RECORD', *os.listdir(path)]]\n"
    "        open(path + '/RECORD', 'w').writelines(record)\n"
    "open(work + 'list', 'w').write('\\n'.join(lines))\n"
    "if lines:\n"
    "    pip('--no-compile', '--no-deps', *options, '-r', work + 'list')\n"
    "print('\\n'.join(lines))\n";

int install_pip(const char *const *options, const char *const *requirements,
                const struct install_site *site, struct fault *fault)
{
    struct installed_words words = {0};
    int r = words_add(&words, (const char *const[]){"python3", "-c", pip_script, NULL}, fault);
    if (r == 0)
        r = words_add(&words, options, fault);
    if (r == 0)
        r = words_add(&words, (const char *const[]){"--", NULL}, fault);
    if (r == 0)
        r = words_add(&words, requirements, fault);
    if (r < 0)
        return r;
    progress_step(site->progress, "pip install");
    struct fault cause = {0};
    r = installer_run(site, words.list, &cause);
    if (r > 0)
        return fault_set(fault, ENOENT, "the image has no python3, so pip cannot install anything");
    if (r < 0)
        return fault_set(fault, -r, "%s%s", cause.text,
                         strstr(cause.text, "No module named pip") != NULL
                             ? "\nthe image has no pip: add --apt python3-pip"
                             : "");
    return 0;
}

/*
 * require() and import look in each directory above the program's, so modules are in /node_modules.
 * npm does not accept "/" as a prefix, so it works on a copy. The copy also requests the existing
 * versions, so that other versions, if needed, are nested. New and changed packages are moved back.
 */
static int npm_install_all(const char *const *packages, const struct install_site *site,
                           struct fault *fault)
{
    static const char script[] =
        "set -e\n"
        "for needed in node npm; do command -v $needed >/dev/null || {\n"
        "    echo \"the image has no $needed, so npm cannot install anything\" >&2; exit 127\n"
        "}; done\n"
        "mkdir -p /node_modules " NPM_ASIDE "\n"
        "cd " NPM_ASIDE "\n"
        "cp -R /node_modules node_modules\n"
        "list() { (cd \"$1\" && for entry in * @*/*; do\n"
        "    case $entry in @*/*) ;; @*) continue ;; esac\n"
        "    if [ -e \"$entry/package.json\" ]; then echo \"$entry\"; fi\n"
        "done); }\n"
        "list node_modules | node -e '\n"
        "    const fs = require(\"fs\");\n"
        "    const names = fs.readFileSync(0, \"utf8\").split(\"\\n\").filter(Boolean);\n"
        "    const read = (name) => JSON.parse(fs.readFileSync(`node_modules/${name}/package.json`));\n"
        "    const dependencies = Object.fromEntries(names.map((name) => [name, read(name).version]));\n"
        "    fs.writeFileSync(\"package.json\", JSON.stringify({ dependencies }));\n"
        "'\n"
        "npm install --prefix=" NPM_ASIDE " --no-save --no-package-lock --no-audit --no-fund "
        "--loglevel=error -- \"$@\" >&2\n"
        "list node_modules | while read -r entry; do\n"
        "    if [ \"$(cat \"node_modules/$entry/package.json\")\" != "
        "\"$(cat \"/node_modules/$entry/package.json\" 2>/dev/null)\" ]; then\n"
        "        mkdir -p \"$(dirname \"/node_modules/$entry\")\"\n"
        "        rm -rf \"/node_modules/$entry\"\n"
        "        mv \"node_modules/$entry\" \"/node_modules/$entry\"\n"
        "    fi\n"
        "done\n"
        "if [ -d node_modules/.bin ]; then\n"
        "    mkdir -p /node_modules/.bin && cp -RPf node_modules/.bin/. /node_modules/.bin/\n"
        "fi\n"
        "cd / && rm -rf " NPM_ASIDE "\n";
    struct installed_words words = {0};
    int r = words_add(&words, (const char *const[]){"/bin/sh", "-c", script, "npm", NULL}, fault);
    if (r == 0)
        r = words_add(&words, packages, fault);
    if (r < 0)
        return r;
    progress_step(site->progress, "npm install");
    r = installer_run(site, words.list, fault);
    return r > 0 ? fault_set(fault, ENOENT, "the image has no /bin/sh") : r;
}

static int commands_run(const char *const *commands, const struct install_site *site,
                        struct fault *fault)
{
    int r = 0;
    for (; r == 0 && *commands != NULL; commands++) {
        OWNED_MEMORY char *shown = strdup(*commands);
        if (shown == NULL)
            return fault_set(fault, ENOMEM, "no memory for a command");
        url_users_remove(shown);
        progress_step(site->progress, "running %.100s", shown);
        r = installer_run(site, (const char *const[]){"/bin/sh", "-c", *commands, NULL}, fault);
        if (r > 0) /* or the command itself exited with 127 */
            return fault_set(fault, EPROTO, "\"%s\" ended with exit code 127: a program is missing",
                             shown);
    }
    return r;
}

/*
 * The root of a run is read-only: without compiled files, every import would compile again.
 * Compiled files are unchecked hash-based ones, because the source never changes during a run; here
 * an upgraded source is recognised by its newer time.
 */
static int modules_compile(const struct install_site *site, struct fault *fault)
{
    static const char script[] =
        "import importlib.util, os, py_compile, site, sysconfig\n"
        "mode = py_compile.PycInvalidationMode.UNCHECKED_HASH\n"
        "tops = {sysconfig.get_path('stdlib'), '/usr/lib/python3', *site.getsitepackages()}\n"
        "for top in tops:\n"
        "    for folder, _, names in os.walk(top):\n"
        "        for name in names:\n"
        "            if not name.endswith('.py'):\n"
        "                continue\n"
        "            path = os.path.join(folder, name)\n"
        "            compiled = importlib.util.cache_from_source(path)\n"
        "            try:\n"
        "                with open(compiled, 'rb') as file:\n"
        "                    unchecked = file.read(8)[4:] == b'\\1\\0\\0\\0'\n"
        "                if unchecked and os.stat(compiled).st_ctime_ns >= "
        "os.stat(path).st_ctime_ns:\n"
        "                    continue\n"
        "            except OSError:\n"
        "                pass\n"
        "            try:\n"
        "                py_compile.compile(path, compiled, doraise=True, invalidation_mode=mode)\n"
        "            except (py_compile.PyCompileError, OSError, UnicodeError):\n"
        "                pass\n";
    progress_step(site->progress, "compiling Python modules");
    int r = installer_run(site, (const char *const[]){"python3", "-I", "-S", "-c", script, NULL},
                          fault);
    return r > 0 ? 0 : r;
}

int install_all(const struct installation *installation, const struct install_site *site,
                struct fault *fault)
{
    static const char *const no_options[] = {NULL};
    int r = 0;
    if (installation->apt[0] != NULL)
        r = install_apt(installation->apt, site, fault);
    if (r == 0 && installation->pip[0] != NULL)
        r = install_pip(no_options, installation->pip, site, fault);
    if (r == 0 && installation->npm[0] != NULL)
        r = npm_install_all(installation->npm, site, fault);
    if (r == 0)
        r = commands_run(installation->run, site, fault);
    return r == 0 ? modules_compile(site, fault) : r;
}
