#include "images/registry/registry_session.h"

#include "images/registry/challenge.h"
#include "images/registry/credentials.h"
#include "images/registry/token.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <stdio.h>
#include <string.h>

#define TRIES_MAX 5         /* of a request that may be tried again */
#define CONNECT_TRIES_MAX 3 /* for connections: the user is waiting */
#define LOGINS_MAX 2        /* for one document: the first, and another if it has expired */

void session_open(struct registry_session *session, struct http *http,
                  const struct reference *reference)
{
    *session = (struct registry_session){.http = http, .reference = reference};
    session->loopback = reference_host_is_loopback(reference->host);
    snprintf(session->base, sizeof(session->base), "https://%s", reference_server(reference));
}

static void secret_free(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void session_close(struct registry_session *session)
{
    secret_free(&session->authorization);
    auth_file_release_credentials(&session->credentials);
}

static int login_wanted(const struct registry_session *session, struct fault *fault)
{
    bool known = session->credentials.user != NULL || session->credentials.identity_token != NULL;
    const char *host = session->reference->host;
    if (known)
        return fault_set(
            fault, EACCES,
            "%s refuses access to %s: the stored login is wrong, has "
            "expired, or has no right to it (401); log in again with: podman login %s, "
            "or docker login %s",
            host, session->reference->repository, host, host);
    return fault_set(fault, EACCES,
                     "%s wants a login for %s, or there is no such image (401); check the name, or "
                     "log in with: podman login %s, or docker login %s",
                     host, session->reference->repository, host, host);
}

/* Looks for a login, once. 0, found or not; or a negative errno. */
static int credentials_seek(struct registry_session *session, struct fault *fault)
{
    if (session->credentials_sought)
        return 0;
    int r = credentials_find(session->reference, &session->credentials, fault);
    session->credentials_sought = r >= 0;
    return r < 0 ? r : 0;
}

int session_authorize(struct registry_session *session, const char *challenge, unsigned logins,
                      struct fault *fault)
{
    if (logins != session->logins)
        return 0; /* another transfer has logged in meanwhile */
    struct challenge asked;
    if (challenge_parse(challenge, &asked) < 0 || asked.scheme == CHALLENGE_OTHER)
        return fault_set(fault, EPROTO, "%s asks for a login by an unsupported method",
                         session->reference->host);
    int r = credentials_seek(session, fault);
    if (r < 0)
        return r;
    OWNED(secret_free) char *authorization = NULL;
    const struct credentials *credentials = &session->credentials;
    if (asked.scheme == CHALLENGE_BASIC) {
        if (credentials->user == NULL || session->logins > 0)
            return login_wanted(session, fault);
        r = token_basic_authorization(credentials, &authorization);
    } else {
        const struct token_request request = {
            .http = session->http,
            .challenge = &asked,
            .credentials = credentials,
            .repository = session->reference->repository,
            .loopback = session->loopback,
        };
        r = token_get(&request, &authorization, fault);
        if (r == -EACCES)
            return login_wanted(session, fault);
    }
    if (r < 0)
        return fault_set(fault, -r, "cannot log in to %s: %m", session->reference->host);
    secret_free(&session->authorization);
    session->authorization = pointer_take(&authorization);
    session->logins++;
    return 0;
}

/* The registry's message in the body of an error response; or "". */
static void message_read(const struct buffer *body, char message[256])
{
    OWNED(json_release) struct json *parsed = NULL;
    message[0] = '\0';
    if (body->length == 0 || json_parse(body->data, body->length, &parsed, NULL) < 0)
        return;
    const struct json_value *errors = json_member(json_root(parsed), "errors");
    const struct json_value *text =
        errors != NULL && errors->type == JSON_ARRAY ? json_member(errors->first, "message") : NULL;
    if (text == NULL || text->type != JSON_STRING)
        return;
    snprintf(message, 256, "%s", text->text);
    utf8_make_plain(message, false);
}

int session_refusal(const struct registry_session *session, const struct transfer *transfer,
                    struct fault *fault)
{
    char message[256], name[REFERENCE_TEXT_MAX];
    long status = transfer->answer.status;
    const char *host = session->reference->host;
    reference_format(session->reference, name);
    message_read(&transfer->answer.body, message);
    const char *colon = message[0] != '\0' ? ": " : "";
    if (status == 404)
        return fault_set(fault, ENOENT, "%s has no %s (404%s%s); check the name and the tag", host,
                         name, colon, message);
    if (status == 403)
        return fault_set(fault, EACCES,
                         "%s refuses access to %s (403%s%s); it may need a login: "
                         "podman login %s, or docker login %s",
                         host, name, colon, message, host, host);
    if (status == 429)
        return fault_set(fault, EBUSY,
                         "%s lets us have no more for now (429%s%s); wait, or log in, which often "
                         "allows more: podman login %s, or docker login %s",
                         host, colon, message, host, host);
    if (status >= 500)
        return fault_set(fault, EBUSY, "%s is out of order (%ld%s%s); try again later", host,
                         status, colon, message);
    return fault_set(fault, EPROTO, "%s answers %ld, which does not belong here%s%s", host, status,
                     colon, message);
}

/* Whether to fall back to plain http, which only a registry on loopback may use. */
static bool falls_back(struct registry_session *session, const struct transfer *transfer)
{
    bool first = session->loopback && strncmp(session->base, "https:", 6) == 0;
    if (!first || (transfer->code != CURLE_SSL_CONNECT_ERROR &&
                   transfer->code != CURLE_RECV_ERROR && transfer->code != CURLE_GOT_NOTHING))
        return false;
    snprintf(session->base, sizeof(session->base), "http://%s", session->reference->host);
    return true;
}

/* Tries of one document. */
struct tries {
    unsigned failures;
    unsigned logins;
};

/* Decides after a try: 1: try again; 0: success; or a negative errno. */
static int try_judge(struct registry_session *session, const struct transfer *transfer,
                     unsigned logins, struct tries *tries, struct fault *fault)
{
    const struct http_answer *answer = &transfer->answer;
    bool answered = transfer->code == CURLE_OK && transfer->sink_error == 0;
    if (answered && answer->status == 200)
        return 0;
    if (falls_back(session, transfer))
        return 1;
    if (answered && answer->status == 401) {
        if (tries->logins++ == LOGINS_MAX)
            return login_wanted(session, fault);
        int r = session_authorize(session, answer->challenge, logins, fault);
        return r < 0 ? r : 1;
    }
    bool nobody =
        transfer->code == CURLE_COULDNT_RESOLVE_HOST || transfer->code == CURLE_COULDNT_CONNECT;
    unsigned most = nobody ? CONNECT_TRIES_MAX : TRIES_MAX;
    if (http_transfer_may_retry(transfer) && ++tries->failures < most)
        return http_pause(http_transfer_delay(transfer, tries->failures)) < 0 ? -EINTR : 1;
    return answered ? session_refusal(session, transfer, fault)
                    : http_transfer_fault(transfer, fault);
}

/* One try. As try_judge(). */
static int try_once(struct registry_session *session, const struct http_request *request,
                    struct tries *tries, struct session_document *document, struct fault *fault)
{
    struct transfer transfer = {0};
    unsigned logins = session->logins;
    int r = http_start(session->http, &transfer, request, fault);
    if (r == 0)
        r = http_wait(session->http, &transfer);
    if (r == 0)
        r = try_judge(session, &transfer, logins, tries, fault);
    if (r == 0) {
        buffer_release(&document->text);
        document->text = transfer.answer.body;
        transfer.answer.body = (struct buffer){0};
        if (document->descriptor.digest.text[0] == '\0' &&
            transfer.answer.content_digest[0] != '\0')
            (void)digest_parse(transfer.answer.content_digest,
                               strlen(transfer.answer.content_digest),
                               &document->descriptor.digest);
    }
    http_stop(session->http, &transfer);
    return r;
}

/* Gets `path` of the repository. */
static int session_get(struct registry_session *session, const char *path, const char *accept,
                       struct session_document *document, struct fault *fault)
{
    struct tries tries = {0};
    int r = 1;
    while (r > 0) {
        snprintf(document->url, sizeof(document->url), "%s/v2/%s/%s", session->base,
                 session->reference->repository, path);
        const struct http_request request = {
            .url = document->url,
            .accept = accept,
            .authorization = session->authorization,
            .loopback = session->loopback,
            .body_max = document->text.maximum,
        };
        r = try_once(session, &request, &tries, document, fault);
    }
    if (r == -EINTR)
        return fault_set(fault, EINTR, "interrupted while asking %s", session->reference->host);
    return r;
}

/* The document must have the requested digest, or the one that the registry declares. */
static int document_check(const struct registry_session *session, const struct descriptor *wanted,
                          struct session_document *document, struct fault *fault)
{
    const struct buffer *text = &document->text;
    struct digest *digest = &document->descriptor.digest;
    static const struct digest like = {"sha256:"};
    document->descriptor.size = text->length;
    if (digest->text[0] == '\0') {
        OWNED(digest_release) struct digest_stream *stream = NULL;
        if (digest_open(&like, &stream) < 0 ||
            digest_update(stream, text->data, text->length) < 0 ||
            digest_finish(stream, digest) < 0)
            return fault_set(fault, EIO, "cannot compute a digest");
    }
    if (wanted != NULL && wanted->size != 0 && wanted->size != text->length)
        return fault_set(fault, EBADMSG, "%s sends %zu bytes instead of %llu: refused",
                         session->reference->host, text->length, (unsigned long long)wanted->size);
    if (!digest_matches(digest, text->data, text->length))
        return fault_set(fault, EBADMSG, "%s sends something else than %s: refused",
                         session->reference->host, digest->text);
    return 0;
}

int session_get_manifest(struct registry_session *session, const struct descriptor *wanted,
                         struct session_document *document, struct fault *fault)
{
    const struct reference *reference = session->reference;
    const struct digest *digest = wanted != NULL ? &wanted->digest : &reference->digest;
    char path[DIGEST_TEXT_MAX + REFERENCE_TAG_MAX];
    snprintf(path, sizeof(path), "manifests/%s",
             digest->text[0] != '\0' ? digest->text : reference->tag);
    document->descriptor = (struct descriptor){.digest = *digest};
    int r = session_get(session, path, MANIFEST_ACCEPT, document, fault);
    return r == 0 ? document_check(session, wanted, document, fault) : r;
}

int session_get_blob(struct registry_session *session, const struct descriptor *wanted,
                     struct session_document *document, struct fault *fault)
{
    char path[DIGEST_TEXT_MAX + 16];
    snprintf(path, sizeof(path), "blobs/%s", wanted->digest.text);
    document->descriptor = *wanted;
    int r = session_get(session, path, NULL, document, fault);
    return r == 0 ? document_check(session, wanted, document, fault) : r;
}

void session_blob_url(const struct registry_session *session, const struct digest *digest,
                      char url[HTTP_URL_MAX])
{
    snprintf(url, HTTP_URL_MAX, "%s/v2/%s/blobs/%s", session->base, session->reference->repository,
             digest->text);
}
