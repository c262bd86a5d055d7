#include "images/registry/credentials.h"

#include "images/base/file.h"
#include "images/base/subprocess.h"
#include "images/store/xdg.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>

static void buffer_wipe(struct buffer *buffer)
{
    if (buffer->data != NULL)
        explicit_bzero(buffer->data, buffer->capacity);
    buffer_release(buffer);
}

/* Asks docker-credential-HELPER. 0; 1: it has no login; or a negative errno. */
static int helper_ask(const char *helper, const struct reference *reference,
                      struct credentials *credentials, struct fault *fault)
{
    char name[96];
    snprintf(name, sizeof(name), "docker-credential-%s", helper);
    OWNED(subprocess_release) struct subprocess child = SUBPROCESS_NONE;
    const struct subprocess_spec program = {
        .argv = (const char *const[]){name, "get", NULL},
        .input = auth_file_host(reference),
    };
    int r = subprocess_run(&program, NULL, &child, fault);
    if (r == -ENOENT)
        return fault_set(fault, ENOENT,
                         "the login for %s is kept by %s, which is not installed: install it, or "
                         "log in without it",
                         reference->host, name);
    const char *said = buffer_string(&child.out);
    if (r == -EPROTO && said != NULL && strstr(said, "credentials not found") != NULL) {
        if (fault != NULL)
            fault->text[0] = '\0';
        return 1;
    }
    if (r < 0)
        return r;
    r = auth_file_read_helper(child.out.data, child.out.length, credentials);
    if (child.out.data != NULL)
        explicit_bzero(child.out.data, child.out.capacity);
    return r < 0 ? fault_set(fault, -r, "%s does not answer with a login", name) : 0;
}

/* Looks into one file. 0; 1: absent, or no login in it; or a negative errno. */
static int file_look(const char *path, const struct reference *reference,
                     struct credentials *credentials, struct fault *fault)
{
    OWNED(buffer_wipe) struct buffer text = BUFFER(AUTH_FILE_MAX);
    OWNED(auth_file_release) struct auth auth = {.kind = AUTH_NONE};
    int r = file_read(path, &text, fault);
    if (r == -ENOENT)
        return 1;
    if (r == 0)
        r = auth_file_read(text.data, text.length, reference, &auth);
    if (r == -EINVAL)
        return fault_set(fault, EINVAL, "the file of logins %s is damaged: it is no JSON", path);
    if (r < 0 || auth.kind == AUTH_NONE)
        return r < 0 ? r : 1;
    if (auth.kind == AUTH_HELPER)
        return helper_ask(auth.helper, reference, credentials, fault);
    *credentials = auth.credentials;
    auth.credentials = (struct credentials){0};
    return 0;
}

/* The same for NAME in a directory that XDG names, or below home. */
static int directory_look(const char *variable, const char *below_home, const char *name,
                          const struct reference *reference, struct credentials *credentials,
                          struct fault *fault)
{
    OWNED_MEMORY char *directory = NULL;
    OWNED_MEMORY char *path = NULL;
    int r = xdg_directory(variable, below_home, &directory);
    if (r < 0)
        return r == -ENOENT ? 1 : r;
    if (asprintf(&path, "%s/%s", directory, name) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, "no memory for the path of a file of logins");
    }
    return file_look(path, reference, credentials, fault);
}

int credentials_find(const struct reference *reference, struct credentials *ret_credentials,
                     struct fault *fault)
{
    const char *named = getenv("REGISTRY_AUTH_FILE");
    if (named != NULL && named[0] != '\0')
        return file_look(named, reference, ret_credentials, fault);
    int r = 1;
    if (getenv("XDG_RUNTIME_DIR") != NULL)
        r = directory_look("XDG_RUNTIME_DIR", "", "containers/auth.json", reference,
                           ret_credentials, fault);
    if (r == 1)
        r = directory_look("XDG_CONFIG_HOME", ".config", "containers/auth.json", reference,
                           ret_credentials, fault);
    if (r == 1)
        r = directory_look("DOCKER_CONFIG", ".docker", "config.json", reference, ret_credentials,
                           fault);
    return r;
}
