#include "images/registry/auth_file.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define DOCKER_KEY "https://index.docker.io/v1/"
#define HELPER_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

static void secret_free(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void auth_file_release_credentials(struct credentials *credentials)
{
    secret_free(&credentials->user);
    secret_free(&credentials->password);
    secret_free(&credentials->identity_token);
}

void auth_file_release(struct auth *auth)
{
    auth_file_release_credentials(&auth->credentials);
}

const char *auth_file_host(const struct reference *reference)
{
    return strcmp(reference->host, "docker.io") == 0 ? DOCKER_KEY : reference->host;
}

/* The text of a member, without NUL; NULL if absent. */
static const char *member_text(const struct json_value *object, const char *name)
{
    const struct json_value *value = json_member(object, name);
    bool plain = value != NULL && value->type == JSON_STRING && value->length > 0 &&
                 strlen(value->text) == value->length;
    return plain ? value->text : NULL;
}

/* Decodes BASE64 of "USER:PASSWORD". 0; 1 if it is malformed; -ENOMEM. */
static int login_decode(const char *text, struct credentials *credentials)
{
    size_t length = strlen(text);
    if (length % 4 != 0 || length > AUTH_FILE_MAX)
        return 1;
    OWNED(secret_free) char *decoded = calloc(1, length + 1);
    if (decoded == NULL)
        return -ENOMEM;
    if (EVP_DecodeBlock((unsigned char *)decoded, (const unsigned char *)text, (int)length) < 0)
        return 1;
    char *colon = strchr(decoded, ':');
    if (colon == NULL || colon == decoded)
        return 1;
    *colon = '\0';
    credentials->user = strdup(decoded);
    credentials->password = strdup(colon + 1);
    *colon = ':'; /* restored, so that all of it is wiped */
    return credentials->user != NULL && credentials->password != NULL ? 0 : -ENOMEM;
}

/* Reads one entry of "auths". 0; 1 when there is no login in it; -ENOMEM. */
static int entry_read(const struct json_value *entry, struct credentials *ret_credentials)
{
    const char *encoded = member_text(entry, "auth");
    const char *token = member_text(entry, "identitytoken");
    const char *user = member_text(entry, "username"), *password = member_text(entry, "password");
    OWNED(auth_file_release_credentials) struct credentials credentials = {0};
    int r = 1;
    if (encoded != NULL)
        r = login_decode(encoded, &credentials);
    if (r == 1 && user != NULL && password != NULL) {
        credentials.user = strdup(user);
        credentials.password = strdup(password);
        r = credentials.user != NULL && credentials.password != NULL ? 0 : -ENOMEM;
    }
    if (r >= 0 && token != NULL) {
        credentials.identity_token = strdup(token);
        r = credentials.identity_token != NULL ? 0 : -ENOMEM;
    }
    if (r != 0)
        return r;
    *ret_credentials = credentials;
    credentials = (struct credentials){0};
    return 0;
}

static const char *without_prefix(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : text;
}

/* Whether a key names the host, also in docker's old form of a URL. */
static bool key_is_host(const char *key, const struct reference *reference)
{
    const char *name = without_prefix(without_prefix(key, "https://"), "http://");
    size_t length = strcspn(name, "/");
    const char *rest = name + length;
    const char *hosts[] = {reference->host, NULL};
    if (strcmp(reference->host, "docker.io") == 0)
        hosts[1] = "index.docker.io";
    bool api = rest[0] == '\0' || strcmp(rest, "/") == 0 || strncmp(rest, "/v1", 3) == 0 ||
               strncmp(rest, "/v2", 3) == 0;
    for (size_t i = 0; api && i < ARRAY_LENGTH(hosts); i++)
        if (hosts[i] != NULL && strlen(hosts[i]) == length && strncmp(name, hosts[i], length) == 0)
            return true;
    return false;
}

/* The length of the reference that a key matches: longer is more specific; 0: no match. */
static size_t key_match(const char *key, const struct reference *reference)
{
    size_t host = strlen(reference->host), length = strlen(key);
    if (key_is_host(key, reference))
        return 1;
    if (length <= host + 1 || strncmp(key, reference->host, host) != 0 || key[host] != '/')
        return 0;
    const char *folder = key + host + 1;
    size_t size = length - host - 1;
    bool whole = strncmp(reference->repository, folder, size) == 0 &&
                 (reference->repository[size] == '/' || reference->repository[size] == '\0');
    return whole ? 1 + size : 0;
}

/* Finds the login of the most specific key. 0, found or not; -ENOMEM. */
static int logins_read(const struct json_value *logins, const struct reference *reference,
                       struct auth *auth)
{
    size_t best = 0;
    const struct json_value *entry =
        logins != NULL && logins->type == JSON_OBJECT ? logins->first : NULL;
    for (; entry != NULL; entry = entry->next) {
        size_t match =
            strlen(entry->key) == entry->key_length ? key_match(entry->key, reference) : 0;
        struct credentials found = {0};
        if (match <= best)
            continue;
        int r = entry_read(entry, &found);
        if (r < 0)
            return r;
        if (r > 0)
            continue;
        auth_file_release_credentials(&auth->credentials);
        auth->credentials = found;
        auth->kind = AUTH_LOGIN;
        best = match;
    }
    return 0;
}

/* Records a helper if its name is valid. */
static bool helper_take(const char *name, struct auth *auth)
{
    if (name == NULL || strlen(name) >= sizeof(auth->helper) ||
        strspn(name, HELPER_LETTERS) != strlen(name))
        return false;
    auth->kind = AUTH_HELPER;
    memcpy(auth->helper, name, strlen(name) + 1);
    return true;
}

int auth_file_read(const char *json, size_t length, const struct reference *reference,
                   struct auth *ret_auth)
{
    OWNED(json_release) struct json *parsed = NULL;
    int r = json_parse(json, length, &parsed, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : -EINVAL;
    const struct json_value *root = json_root(parsed);
    if (root->type != JSON_OBJECT)
        return -EINVAL;
    OWNED(auth_file_release) struct auth auth = {.kind = AUTH_NONE};
    const struct json_value *helpers = json_member(root, "credHelpers");
    bool settled = helper_take(member_text(helpers, reference->host), &auth) ||
                   helper_take(member_text(helpers, auth_file_host(reference)), &auth);
    r = settled ? 0 : logins_read(json_member(root, "auths"), reference, &auth);
    if (r < 0)
        return r;
    if (auth.kind == AUTH_NONE)
        (void)helper_take(member_text(root, "credsStore"), &auth);
    *ret_auth = auth;
    auth = (struct auth){.kind = AUTH_NONE};
    return 0;
}

int auth_file_read_helper(const char *json, size_t length, struct credentials *ret_credentials)
{
    OWNED(json_release) struct json *parsed = NULL;
    int r = json_parse(json, length, &parsed, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : -EINVAL;
    const char *user = member_text(json_root(parsed), "Username");
    const char *secret = member_text(json_root(parsed), "Secret");
    if (user == NULL || secret == NULL)
        return -EINVAL;
    OWNED(auth_file_release_credentials) struct credentials credentials = {0};
    bool is_token = strcmp(user, "<token>") == 0;
    char **place = is_token ? &credentials.identity_token : &credentials.password;
    credentials.user = is_token ? NULL : strdup(user);
    *place = strdup(secret);
    if (*place == NULL || (!is_token && credentials.user == NULL))
        return -ENOMEM;
    *ret_credentials = credentials;
    credentials = (struct credentials){0};
    return 0;
}
