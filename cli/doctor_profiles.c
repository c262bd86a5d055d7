#include "cli/doctor_profiles.h"

#include "cli/serve.h"
#include "interpreter/base/helpers.h"
#include "sandbox/base/owned.h"
#include "seccomp-profiles/container-profile.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A path between the quotes of apparmor.d(5), where these characters are patterns. */
static void print_path(const char *path)
{
    for (; *path != '\0'; path++) {
        if (strchr("\\\"*?[]{}^@", *path) != NULL)
            putchar('\\');
        putchar(*path);
    }
}

static void print_apparmor_profile(const char *name, const char *path)
{
    printf("\nprofile %s \"", name);
    print_path(path);
    printf("\" flags=(unconfined) {\n  userns,\n\n  include if exists <local/%s>\n}\n", name);
}

/* The real path of a program that was installed with this one; owned. NULL with errno. */
static char *path_of(const char *program, const char *folder)
{
    OWNED_MEMORY char *found = NULL;
    int r = helpers_find(program, folder, &found);
    errno = -r;
    return r == 0 ? realpath(found, NULL) : NULL;
}

/* All of these programs make sandboxes. A profile with this flag confines nothing. */
static int print_apparmor(struct fault *fault)
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (length < 0)
        return fault_set(fault, errno, "cannot find this program: /proc/self/exe: %m");
    own[length] = '\0';
    OWNED_MEMORY char *image_program = path_of(IMAGE_PROGRAM, "images");
    if (image_program == NULL)
        return fault_set(fault, errno, "cannot find the program " IMAGE_PROGRAM ": %m");
    OWNED_MEMORY char *http_program = path_of(HTTP_PROGRAM, HTTP_FOLDER);
    puts("# Lets code-sandbox-mcp make sandboxes where AppArmor keeps user namespaces from other "
         "programs.\n"
         "# /etc/apparmor.d/code-sandbox-mcp; then: sudo apparmor_parser -r "
         "/etc/apparmor.d/code-sandbox-mcp\n"
         "abi <abi/4.0>,\n"
         "include <tunables/global>");
    print_apparmor_profile("code-sandbox-mcp", own);
    print_apparmor_profile(IMAGE_PROGRAM, image_program);
    if (http_program != NULL)
        print_apparmor_profile(HTTP_PROGRAM, http_program);
    return 0;
}

/* For docker run --security-opt seccomp=FILE, and podman's. */
static int print_docker(struct fault *fault)
{
    (void)fault;
    fwrite(container_profile_json, 1, sizeof(container_profile_json), stdout);
    return 0;
}

static int print_kubernetes(struct fault *fault)
{
    (void)fault;
    puts("# Save the output of `code-sandbox-mcp doctor --profile docker` on each node as\n"
         "# /var/lib/kubelet/seccomp/code-sandbox-mcp.json\n"
         "apiVersion: v1\n"
         "kind: Pod\n"
         "metadata:\n"
         "  name: code-sandbox\n"
         "spec:\n"
         "  hostUsers: false # a user namespace for the pod: without it, procMount is refused\n"
         "  containers:\n"
         "    - name: main\n"
         "      image: IMAGE # yours, with code-sandbox-mcp in it\n"
         "      securityContext:\n"
         "        procMount: Unmasked\n"
         "        appArmorProfile:\n"
         "          type: Unconfined\n"
         "        seccompProfile:\n"
         "          type: Localhost\n"
         "          localhostProfile: code-sandbox-mcp.json");
    return 0;
}

static const struct {
    const char *name;
    int (*print)(struct fault *fault);
} profiles[] = {
    {"apparmor", print_apparmor},
    {"docker", print_docker},
    {"kubernetes", print_kubernetes},
};

static size_t find(const char *name)
{
    size_t i = 0;
    while (i < ARRAY_LENGTH(profiles) && strcmp(profiles[i].name, name) != 0)
        i++;
    return i;
}

bool doctor_profiles_have(const char *name)
{
    return find(name) < ARRAY_LENGTH(profiles);
}

int doctor_profiles_print(const char *name, struct fault *fault)
{
    size_t i = find(name);
    return i < ARRAY_LENGTH(profiles)
               ? profiles[i].print(fault)
               : fault_set(fault, EINVAL, "there is no profile \"%s\"", name);
}
