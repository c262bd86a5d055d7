#include "fleet/nats_link.h"

#include "images/store/identity.h"
#include "images/store/store.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define RECONNECT_WAIT_MS 200
#define CREDENTIALS_MAX 16384
#define PUBLIC_KEY_SIZE 57 /* base32 of a prefix, 32 bytes and a checksum, and NUL */
#define BASE32_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:[]_-"
#define TOKEN_BEGIN "-----BEGIN NATS USER JWT-----"
#define BUFFER_WHILE_GONE 1 /* bytes: what is said to nobody is an error at once */

int environment_name_find(struct environment_name *environment, struct fault *fault)
{
    OWNED_MEMORY char *store = NULL;
    OWNED(image_release) struct image image = {0};
    char identity[IDENTITY_SIZE];
    int r = store_path(&store, fault);
    if (r == 0)
        r = image_open(store, environment->image, &image, fault);
    if (r == 0)
        r = image_identity(&image, identity, fault);
    if (r == 0)
        snprintf(environment->text, sizeof(environment->text), "%s-%s", environment->language,
                 identity);
    return r;
}

int broker_fault(struct fault *fault, natsStatus status, const char *what)
{
    const char *text = natsStatus_GetText(status);
    natsStatus last = NATS_OK;
    const char *detail = nats_GetLastError(&last);
    const char *place = detail != NULL && detail[0] == '(' ? strstr(detail, "): ") : NULL;
    if (place != NULL) /* "(conn.c:2088): " */
        detail = place + 3;
    bool has_detail =
        detail != NULL && detail[0] != '\0' && last == status && strcmp(detail, text) != 0;
    return fault_set(
        fault, status == NATS_TIMEOUT ? ETIMEDOUT : EIO, "%s: %s%s%s%s", what, text,
        has_detail ? ": " : "", has_detail ? detail : "",
        status == NATS_NO_SERVER ? "; check the address, and that the broker runs there" : "");
}

static void on_disconnect(natsConnection *connection, void *data)
{
    (void)connection;
    struct nats_link *broker = data;
    pthread_mutex_lock(&broker->mutex);
    broker->disconnected_at = clock_now();
    pthread_mutex_unlock(&broker->mutex);
}

static void on_reconnect(natsConnection *connection, void *data)
{
    (void)connection;
    struct nats_link *broker = data;
    pthread_mutex_lock(&broker->mutex);
    broker->disconnected_at = 0;
    broker->reconnected_at = clock_now();
    pthread_mutex_unlock(&broker->mutex);
}

static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus status,
                     void *data)
{
    (void)subscription;
    struct nats_link *broker = data;
    const char *text = NULL;
    if (status != NATS_NOT_PERMITTED)
        return;
    pthread_mutex_lock(&broker->mutex);
    natsConnection_GetLastError(connection, &text);
    broker->denied_at = clock_now();
    snprintf(broker->denied, sizeof(broker->denied), "%s", text != NULL ? text : "not permitted");
    pthread_mutex_unlock(&broker->mutex);
}

bool broker_has_denied(struct nats_link *broker, int64_t since,
                       char ret_text[static BROKER_DENIAL_MAX])
{
    pthread_mutex_lock(&broker->mutex);
    bool has_denied = broker->denied_at > since;
    memcpy(ret_text, broker->denied, BROKER_DENIAL_MAX);
    pthread_mutex_unlock(&broker->mutex);
    return has_denied;
}

int64_t broker_gone_ms(struct nats_link *broker)
{
    pthread_mutex_lock(&broker->mutex);
    int64_t since = broker->disconnected_at;
    pthread_mutex_unlock(&broker->mutex);
    return since == 0 ? 0 : (clock_now() - since) / NANOSECONDS_PER_MILLISECOND + 1;
}

int64_t broker_reconnected_at(struct nats_link *broker)
{
    pthread_mutex_lock(&broker->mutex);
    int64_t at = broker->reconnected_at;
    pthread_mutex_unlock(&broker->mutex);
    return at;
}

void broker_pause(long milliseconds)
{
    const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

bool broker_has_just_returned(struct nats_link *broker)
{
    int64_t at = broker_reconnected_at(broker);
    return at != 0 && clock_now() - at < WIRE_SILENCE_MS * NANOSECONDS_PER_MILLISECOND;
}

/* What an address is made of: [USER:PASSWORD@]HOST[:PORT], behind the scheme. */
struct address_parts {
    const char *login; /* borrowed; length 0: none */
    size_t login_length;
    const char *host;
};

static struct address_parts split_address(const char *url)
{
    const char *begin = strstr(url, "://") + 3;
    const char *at = strchr(begin, '@');
    return (struct address_parts){
        .login = begin,
        .login_length = at != NULL ? (size_t)(at - begin) : 0,
        .host = at != NULL ? at + 1 : begin,
    };
}

/* An address of this machine, not a name that may lead elsewhere. False where it is unclear what the host is. */
static bool is_loopback(const char *host)
{
    char name[64];
    struct in_addr address;
    if (strncmp(host, "[::1]", 5) == 0 && (host[5] == ':' || host[5] == '\0'))
        return true;
    size_t length = strcspn(host, ":/");
    if (length >= sizeof(name))
        return false;
    memcpy(name, host, length);
    name[length] = '\0';
    return strcmp(name, "localhost") == 0 ||
           (inet_pton(AF_INET, name, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

/* A list of addresses would need each of them to be looked at: nats.c takes one here. */
static int check_address(const struct broker_options *options, struct fault *fault)
{
    const char *url = options->url;
    bool is_encrypted = strncmp(url, "tls://", 6) == 0;
    if (!is_encrypted && strncmp(url, "nats://", 7) != 0)
        return fault_set(fault, EINVAL,
                         "the address of the broker must begin with nats:// or "
                         "tls://");
    if (strchr(url, ',') != NULL)
        return fault_set(fault, EINVAL, "name one address of the broker");
    const char *host = split_address(url).host;
    size_t length = strspn(host, HOST_CHARACTERS);
    if (length == 0 || (host[length] != '\0' && strcmp(host + length, "/") != 0))
        return fault_set(fault, EINVAL,
                         "the address of the broker must end with its host, or its host and port; "
                         "in a password, write %%40 for @");
    if (!is_encrypted && !options->may_be_insecure && !is_loopback(host))
        return fault_set(fault, EINVAL,
                         "the broker at %s is on another machine, and would see and choose the "
                         "code without encryption: use tls://, or --insecure on a network of "
                         "your own",
                         host);
    return 0;
}

/* Whoever has the file may run code. */
static int check_credentials(const char *path, struct fault *fault)
{
    struct stat about;
    if (path == NULL)
        return 0;
    if (stat(path, &about) < 0)
        return fault_set(fault, errno, "the credentials %s: %m", path);
    if ((about.st_mode & 077) != 0)
        return fault_set(fault, EPERM, "others can read the credentials %s: chmod 600 %s", path,
                         path);
    return 0;
}

/* The public key of a user: a line of its own. False: there is none. */
static bool find_public_key(const char *text, char key[static PUBLIC_KEY_SIZE])
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\r\n");
        if (length == PUBLIC_KEY_SIZE - 1 && text[0] == 'U' &&
            strspn(text, BASE32_LETTERS) >= length) {
            memcpy(key, text, length);
            key[length] = '\0';
            return true;
        }
        text += length;
        text += strspn(text, "\r\n");
    }
    return false;
}

/* Base64 as tokens have it, without padding. False: it is none. */
static bool decode_claims(const char *text, size_t length, struct buffer *ret_claims)
{
    OWNED(buffer_release) struct buffer standard = BUFFER(length + 3);
    size_t wrong;
    if (buffer_append(&standard, text, length) < 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '-')
            standard.data[i] = '+';
        else if (text[i] == '_')
            standard.data[i] = '/';
    }
    if (length % 4 != 0 && buffer_append(&standard, "==", 4 - length % 4) < 0)
        return false;
    return base64_decode(ret_claims, standard.data, standard.length, &wrong) == 0;
}

/* The user of a token, HEADER.CLAIMS.SIGNATURE: the subject of its claims, a public key. */
static bool find_subject_of_token(const char *text, char key[static PUBLIC_KEY_SIZE])
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(CREDENTIALS_MAX);
    OWNED(json_release) struct json *json = NULL;
    const char *begin = strstr(text, TOKEN_BEGIN);
    const char *claims = begin != NULL ? strchr(begin, '.') : NULL;
    size_t length = claims != NULL ? strcspn(claims + 1, ".\r\n") : 0;
    if (length == 0 || length % 4 == 1 || !decode_claims(claims + 1, length, &bytes) ||
        json_parse(bytes.data, bytes.length, &json, NULL) < 0)
        return false;
    const struct json_value *subject = json_member(json_root(json), "sub");
    return subject != NULL && subject->type == JSON_STRING &&
           subject->length == PUBLIC_KEY_SIZE - 1 && find_public_key(subject->text, key);
}

/* A file of credentials has a token and a seed; one of a key alone has its public half and a seed. */
struct nats_credentials {
    bool is_key;
    char key[PUBLIC_KEY_SIZE]; /* of the user */
};

static int read_credentials(const char *path, struct nats_credentials *ret_credentials,
                            struct fault *fault)
{
    char text[CREDENTIALS_MAX];
    int r = text_file_read(AT_FDCWD, path, text, sizeof(text));
    bool is_token = r == 0 && strstr(text, TOKEN_BEGIN) != NULL;
    bool is_known = r == 0 && (is_token ? find_subject_of_token(text, ret_credentials->key)
                                        : find_public_key(text, ret_credentials->key));
    explicit_bzero(text, sizeof(text));
    ret_credentials->is_key = !is_token;
    if (r < 0)
        return fault_set(fault, -r, "the credentials %s: %m", path);
    return is_known ? 0
                    : fault_set(fault, EINVAL,
                                "the credentials %s have neither a token nor the public key and "
                                "the seed of a user",
                                path);
}

/* The name that the broker knows this user by, a word of the subjects that the user may use. */
static int name_user(struct nats_link *broker, const struct nats_credentials *credentials,
                     struct fault *fault)
{
    const struct broker_options *options = broker->options;
    const struct address_parts parts = split_address(options->url);
    const char *colon = memchr(parts.login, ':', parts.login_length);
    int length = colon != NULL ? (int)(colon - parts.login) : 0;
    if (options->credentials != NULL)
        snprintf(broker->user, sizeof(broker->user), "%s", credentials->key);
    else if (colon != NULL)
        snprintf(broker->user, sizeof(broker->user), "%.*s", length, parts.login);
    else
        snprintf(broker->user, sizeof(broker->user), "%s", WIRE_SHARED);
    if (!subject_is_word(broker->user) || length >= SUBJECT_WORD_SIZE)
        return fault_set(fault, EINVAL,
                         "the user of the broker must be 1 to %d letters, digits, - and _, not "
                         "\"%.*s\": its name is part of subjects",
                         SUBJECT_WORD_SIZE - 1, length < FAULT_TEXT_MAX ? length : 0, parts.login);
    snprintf(broker->inbox, sizeof(broker->inbox), WIRE_INBOX, broker->user);
    return 0;
}

static natsStatus set_options(natsOptions *settings, struct nats_link *broker,
                              const struct nats_credentials *credentials)
{
    const struct broker_options *options = broker->options;
    natsStatus s = natsOptions_SetURL(settings, options->url);
    if (s == NATS_OK)
        s = natsOptions_SetName(settings, options->name);
    if (s == NATS_OK)
        s = natsOptions_SetCustomInboxPrefix(settings, broker->inbox);
    if (s == NATS_OK)
        s = natsOptions_SetSendAsap(settings, true); /* otherwise a flusher adds 2 ms to each hop */
    if (s == NATS_OK)
        s = natsOptions_SetMaxReconnect(settings, -1);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectWait(settings, RECONNECT_WAIT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectJitter(settings, RECONNECT_WAIT_MS / 2, RECONNECT_WAIT_MS / 2);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectBufSize(settings, BUFFER_WHILE_GONE);
    if (s == NATS_OK)
        s = natsOptions_SetFailRequestsOnDisconnect(settings, true);
    if (s == NATS_OK)
        s = natsOptions_SetErrorHandler(settings, on_error, broker);
    if (s == NATS_OK)
        s = natsOptions_SetDisconnectedCB(settings, on_disconnect, broker);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectedCB(settings, on_reconnect, broker);
    if (s == NATS_OK && strncmp(options->url, "tls://", 6) == 0)
        s = natsOptions_SetSecure(settings, true);
    if (s == NATS_OK && options->authority != NULL)
        s = natsOptions_LoadCATrustedCertificates(settings, options->authority);
    if (s == NATS_OK && options->credentials != NULL)
        s = credentials->is_key
                ? natsOptions_SetNKeyFromSeed(settings, credentials->key, options->credentials)
                : natsOptions_SetUserCredentialsFromFiles(settings, options->credentials, NULL);
    return s;
}

/* Who this user is, before the broker is asked. */
static int identify(struct nats_link *broker, struct nats_credentials *credentials,
                    struct fault *fault)
{
    const struct broker_options *options = broker->options;
    int r = check_address(options, fault);
    if (r == 0)
        r = check_credentials(options->credentials, fault);
    if (r == 0 && options->credentials != NULL)
        r = read_credentials(options->credentials, credentials, fault);
    if (r == 0)
        r = name_user(broker, credentials, fault);
    if (r == 0 && !subject_is_word(options->pool))
        r = fault_set(fault, EINVAL, "a pool must be letters, digits, - and _");
    return r;
}

/* Such as the time to say who this is, which is over soon: on a busy machine, it may be enough the next time. */
static bool may_pass(natsStatus status)
{
    return status == NATS_ERR || status == NATS_TIMEOUT || status == NATS_IO_ERROR ||
           status == NATS_PROTOCOL_ERROR || status == NATS_CONNECTION_CLOSED;
}

static natsStatus connect_patiently(struct nats_link *broker, natsOptions *settings)
{
    int64_t end = clock_now() + WIRE_RECONNECT_MS * NANOSECONDS_PER_MILLISECOND;
    natsStatus s = natsConnection_Connect(&broker->connection, settings);
    while (may_pass(s) && clock_now() < end) {
        broker_pause(RECONNECT_WAIT_MS);
        s = natsConnection_Connect(&broker->connection, settings);
    }
    return s;
}

int broker_open(struct nats_link *broker, const struct broker_options *options, struct fault *fault)
{
    struct nats_credentials credentials = {0};
    *broker = (struct nats_link){.options = options, .mutex = PTHREAD_MUTEX_INITIALIZER};
    snprintf(broker->stream_name, sizeof(broker->stream_name), WIRE_STREAM, options->pool);
    int r = identify(broker, &credentials, fault);
    if (r < 0)
        return r;
    natsOptions *settings = NULL;
    natsStatus s = natsOptions_Create(&settings);
    if (s == NATS_OK)
        s = set_options(settings, broker, &credentials);
    if (s == NATS_OK)
        s = connect_patiently(broker, settings);
    natsOptions_Destroy(settings);
    if (s == NATS_OK)
        s = natsConnection_JetStream(&broker->stream, broker->connection, NULL);
    if (s == NATS_OK)
        return 0;
    char what[WIRE_SUBJECT_SIZE];
    int scheme = (int)(strstr(options->url, "://") + 3 - options->url);
    snprintf(what, sizeof(what), "connecting to the broker at %.*s%s", scheme, options->url,
             split_address(options->url).host); /* no password is shown */
    return broker_fault(fault, s, what);
}

void broker_close(struct nats_link *broker)
{
    jsCtx_Destroy(broker->stream);
    natsConnection_Destroy(broker->connection);
    broker->stream = NULL;
    broker->connection = NULL;
}
