#include "images/unpack/package.h"

#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *const package_merged_directories[] = {"bin", "lib", "lib64", "sbin", NULL};

static const char *const unwanted[] = {
    "usr/share/applications", "usr/share/bash-completion",
    "usr/share/bug",          "usr/share/doc-base",
    "usr/share/gtk-doc",      "usr/share/icons",
    "usr/share/info",         "usr/share/lintian",
    "usr/share/locale",       "usr/share/man",
    "usr/share/docs",         "usr/share/menu",
    "usr/share/zsh",
};

/* The rest of the name below a directory: "" for the directory itself, NULL if elsewhere. */
static const char *below(const char *name, const char *directory)
{
    size_t length = strlen(directory);
    if (strncmp(name, directory, length) != 0)
        return NULL;
    if (name[length] == '/')
        return name + length + 1;
    return name[length] == '\0' ? name + length : NULL;
}

/* usr/share/doc/PACKAGE/copyright, and the links by which packages share their directory. */
static bool is_licence(const char *rest, mode_t type)
{
    const char *slash = strchr(rest, '/');
    if (slash == NULL)
        return rest[0] != '\0' && type == S_IFLNK;
    return strcmp(slash + 1, "copyright") == 0;
}

/*
 * A test module or its data: a quarter of the size of Python's data libraries. Other modules in
 * these directories are kept, since some are imported from outside (numpy._core.tests._natype);
 * statsmodels has the expected results of its tests in modules.
 */
static bool is_python_test(const char *rest, mode_t type)
{
    const char *tests = strstr(rest, "/tests/");
    if (tests == NULL || type == S_IFDIR)
        return false;
    if (strncmp(tests, "/tests/results/", 15) == 0)
        return true;
    const char *base = strrchr(rest, '/') + 1;
    const char *dot = strrchr(base, '.');
    return strncmp(base, "test_", 5) == 0 || dot == NULL || strcmp(dot, ".py") != 0;
}

bool package_member_wanted(const char *name, mode_t type)
{
    for (size_t i = 0; i < ARRAY_LENGTH(unwanted); i++)
        if (below(name, unwanted[i]) != NULL)
            return false;
    const char *rest = below(name, "usr/share/doc");
    if (rest != NULL)
        return is_licence(rest, type);
    rest = below(name, "usr/lib/python3/dist-packages");
    return rest == NULL || !is_python_test(rest, type);
}

bool package_member_place(const char *name, bool is_directory, char ret_place[PATH_MAX])
{
    bool moved = false;
    for (const char *const *merged = package_merged_directories; *merged != NULL; merged++) {
        const char *rest = below(name, *merged);
        if (rest != NULL && (rest[0] != '\0' || is_directory))
            moved = true;
    }
    int length = snprintf(ret_place, PATH_MAX, "%s%s", moved ? "usr/" : "", name);
    return length >= 0 && length < PATH_MAX;
}
