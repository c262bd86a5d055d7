#include "images/registry/token.h"

#include "images/base/reference.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define TOKEN_ANSWER_MAX (1 << 20)
#define TRIES_MAX 4
#define CLIENT "code-sandbox-mcp"

static void secret_free(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

static void escaped_free(char **text)
{
    curl_free(*text);
}

int token_basic_authorization(const struct credentials *credentials, char **ret_authorization)
{
    OWNED(secret_free) char *pair = NULL;
    if (asprintf(&pair, "%s:%s", credentials->user, credentials->password) < 0) {
        pair = NULL;
        return -ENOMEM;
    }
    size_t length = strlen(pair);
    static const char scheme[] = "Basic ";
    OWNED(secret_free) char *value = calloc(1, sizeof(scheme) + (length + 2) / 3 * 4 + 1);
    if (value == NULL || length > INT32_MAX / 2)
        return -ENOMEM;
    memcpy(value, scheme, sizeof(scheme));
    EVP_EncodeBlock((unsigned char *)value + strlen(scheme), (const unsigned char *)pair,
                    (int)length);
    *ret_authorization = pointer_take(&value);
    return 0;
}

/* Appends the scopes as separate parameters, as servers require. */
static int scopes_append(struct buffer *query, const struct token_request *request)
{
    char fallback[REFERENCE_REPOSITORY_MAX + 32];
    snprintf(fallback, sizeof(fallback), "repository:%s:pull", request->repository);
    const char *scope = request->challenge->scope[0] != '\0' ? request->challenge->scope : fallback;
    int r = 0;
    while (r == 0 && *scope != '\0') {
        size_t length = strcspn(scope, " ");
        OWNED(escaped_free) char *escaped = curl_easy_escape(NULL, scope, (int)length);
        if (length > 0)
            r = escaped == NULL ? -ENOMEM : buffer_format(query, "&scope=%s", escaped);
        scope += length + (scope[length] == ' ');
    }
    return r;
}

/* "service=...&scope=..." */
static int query_make(struct buffer *query, const struct token_request *request)
{
    OWNED(escaped_free) char *service = curl_easy_escape(NULL, request->challenge->service, 0);
    int r = service == NULL ? -ENOMEM : buffer_format(query, "service=%s", service);
    return r == 0 ? scopes_append(query, request) : r;
}

static int form_make(struct buffer *form, const struct token_request *request)
{
    OWNED(escaped_free)
    char *token = curl_easy_escape(NULL, request->credentials->identity_token, 0);
    int r =
        token == NULL
            ? -ENOMEM
            : buffer_format(form, "grant_type=refresh_token&client_id=" CLIENT "&refresh_token=%s&",
                            token);
    if (token != NULL)
        explicit_bzero(token, strlen(token));
    return r == 0 ? query_make(form, request) : r;
}

/* Turns the response's token into a header value. 0; -EPROTO; -ENOMEM. */
static int answer_read(const struct buffer *body, char **ret_authorization)
{
    OWNED(json_release) struct json *parsed = NULL;
    if (json_parse(body->data, body->length, &parsed, NULL) < 0)
        return -EPROTO;
    const struct json_value *token = json_member(json_root(parsed), "token");
    if (token == NULL || token->type != JSON_STRING || token->length == 0)
        token = json_member(json_root(parsed), "access_token");
    if (token == NULL || token->type != JSON_STRING || token->length == 0)
        return -EPROTO;
    /* It becomes a header value: refuse characters that would end the header. */
    for (size_t i = 0; i < token->length; i++)
        if ((unsigned char)token->text[i] <= 0x20 || (unsigned char)token->text[i] >= 0x7f)
            return -EPROTO;
    return asprintf(ret_authorization, "Bearer %s", token->text) < 0 ? -ENOMEM : 0;
}

/* Makes one request. 1: try again after a pause; else as token_get(). */
static int token_try(const struct token_request *request, const struct http_request *asked,
                     unsigned number, char **ret_authorization, struct fault *fault)
{
    struct transfer transfer = {0};
    int r = http_start(request->http, &transfer, asked, fault);
    if (r == 0)
        r = http_wait(request->http, &transfer);
    long status = transfer.answer.status;
    bool answered = r == 0 && transfer.code == CURLE_OK && transfer.sink_error == 0;
    if (r == 0 && http_transfer_may_retry(&transfer) && number < TRIES_MAX)
        r = http_pause(http_transfer_delay(&transfer, number)) < 0 ? -EINTR : 1;
    else if (r == 0 && !answered)
        r = http_transfer_fault(&transfer, fault);
    else if (answered && status == 200)
        r = answer_read(&transfer.answer.body, ret_authorization);
    else if (answered)
        r = status == 401 || status == 403 || status == 400 ? -EACCES : -EPROTO;
    if (r == -EPROTO)
        fault_set(fault, EPROTO, "the server of logins answers %ld, and no token", status);
    if (transfer.answer.body.data != NULL)
        explicit_bzero(transfer.answer.body.data, transfer.answer.body.capacity);
    http_stop(request->http, &transfer);
    return r;
}

static void buffer_wipe(struct buffer *buffer)
{
    if (buffer->data != NULL)
        explicit_bzero(buffer->data, buffer->capacity);
    buffer_release(buffer);
}

int token_get(const struct token_request *request, char **ret_authorization, struct fault *fault)
{
    const struct credentials *credentials = request->credentials;
    const char *realm = request->challenge->realm;
    OWNED(buffer_wipe) struct buffer form = BUFFER(TOKEN_ANSWER_MAX);
    OWNED(buffer_release) struct buffer url = BUFFER(HTTP_URL_MAX);
    OWNED(secret_free) char *authorization = NULL;
    bool posts = credentials->identity_token != NULL;
    int r = 0;
    if (!posts && credentials->user != NULL)
        r = token_basic_authorization(credentials, &authorization);
    if (r == 0)
        r = buffer_append_text(&url, realm);
    if (r == 0 && posts)
        r = form_make(&form, request);
    if (r == 0 && !posts)
        r = buffer_append_text(&url, strchr(realm, '?') != NULL ? "&" : "?");
    if (r == 0 && !posts)
        r = query_make(&url, request);
    const char *address = r == 0 ? buffer_string(&url) : NULL;
    const char *posted = posts && r == 0 ? buffer_string(&form) : NULL;
    if (address == NULL || (posts && posted == NULL))
        return fault_set(fault, ENOMEM, "no memory for the address of a token");
    const struct http_request asked = {
        .url = address,
        .authorization = authorization,
        .form = posted,
        .loopback = request->loopback,
        .body_max = TOKEN_ANSWER_MAX,
    };
    r = 1;
    for (unsigned number = 1; r > 0; number++)
        r = token_try(request, &asked, number, ret_authorization, fault);
    return r;
}
