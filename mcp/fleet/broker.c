#include "mcp/fleet/broker.h"

#include "images/store/identity.h"
#include "images/store/store.h"
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
    natsStatus last = NATS_OK;
    const char *detail = nats_GetLastError(&last);
    bool has_detail = detail != NULL && detail[0] != '\0' && last == status;
    return fault_set(fault, status == NATS_TIMEOUT ? ETIMEDOUT : EIO, "%s: %s%s%s", what,
                     natsStatus_GetText(status), has_detail ? ": " : "", has_detail ? detail : "");
}

static void on_disconnect(natsConnection *connection, void *data)
{
    (void)connection;
    struct broker *broker = data;
    pthread_mutex_lock(&broker->mutex);
    broker->disconnected_at = clock_now();
    pthread_mutex_unlock(&broker->mutex);
}

static void on_reconnect(natsConnection *connection, void *data)
{
    (void)connection;
    struct broker *broker = data;
    pthread_mutex_lock(&broker->mutex);
    broker->disconnected_at = 0;
    broker->reconnected_at = clock_now();
    pthread_mutex_unlock(&broker->mutex);
}

static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus status,
                     void *data)
{
    (void)subscription;
    struct broker *broker = data;
    const char *text = NULL;
    if (status != NATS_NOT_PERMITTED)
        return;
    pthread_mutex_lock(&broker->mutex);
    natsConnection_GetLastError(connection, &text);
    broker->denied_at = clock_now();
    snprintf(broker->denied, sizeof(broker->denied), "%s", text != NULL ? text : "not permitted");
    pthread_mutex_unlock(&broker->mutex);
}

bool broker_has_denied(struct broker *broker, int64_t since,
                       char ret_text[static BROKER_DENIAL_MAX])
{
    pthread_mutex_lock(&broker->mutex);
    bool has_denied = broker->denied_at > since;
    memcpy(ret_text, broker->denied, BROKER_DENIAL_MAX);
    pthread_mutex_unlock(&broker->mutex);
    return has_denied;
}

int64_t broker_gone_ms(struct broker *broker)
{
    pthread_mutex_lock(&broker->mutex);
    int64_t since = broker->disconnected_at;
    pthread_mutex_unlock(&broker->mutex);
    return since == 0 ? 0 : (clock_now() - since) / NANOSECONDS_PER_MILLISECOND + 1;
}

int64_t broker_reconnected_at(struct broker *broker)
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

bool broker_has_just_returned(struct broker *broker)
{
    int64_t at = broker_reconnected_at(broker);
    return at != 0 && clock_now() - at < WIRE_SILENCE_MS * NANOSECONDS_PER_MILLISECOND;
}

/* An address of this machine, not a name that may lead elsewhere. False where it is unclear what the host is. */
static bool is_loopback(const char *url)
{
    char name[64];
    struct in_addr address;
    const char *host = strstr(url, "://") + 3;
    const char *at = strchr(host, '@');
    host = at != NULL ? at + 1 : host;
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
    if (!is_encrypted && !options->may_be_insecure && !is_loopback(url))
        return fault_set(fault, EINVAL,
                         "%s is on another machine, and would see and choose the code without "
                         "encryption: use tls://, or --insecure on a network of your own",
                         url);
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

/* A file of credentials has a token and a seed; one of a key alone has its public half and a seed. */
static natsStatus set_credentials(natsOptions *settings, const char *path)
{
    char text[CREDENTIALS_MAX];
    char key[PUBLIC_KEY_SIZE];
    bool is_key = text_file_read(AT_FDCWD, path, text, sizeof(text)) == 0 &&
                  strstr(text, "USER JWT") == NULL && find_public_key(text, key);
    explicit_bzero(text, sizeof(text));
    return is_key ? natsOptions_SetNKeyFromSeed(settings, key, path)
                  : natsOptions_SetUserCredentialsFromFiles(settings, path, NULL);
}

static natsStatus set_options(natsOptions *settings, struct broker *broker)
{
    const struct broker_options *options = broker->options;
    natsStatus s = natsOptions_SetURL(settings, options->url);
    if (s == NATS_OK)
        s = natsOptions_SetName(settings, options->name);
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
        s = set_credentials(settings, options->credentials);
    return s;
}

int broker_open(struct broker *broker, const struct broker_options *options, struct fault *fault)
{
    *broker = (struct broker){.options = options, .mutex = PTHREAD_MUTEX_INITIALIZER};
    snprintf(broker->stream_name, sizeof(broker->stream_name), WIRE_STREAM, options->pool);
    int r = check_address(options, fault);
    if (r == 0)
        r = check_credentials(options->credentials, fault);
    if (r < 0)
        return r;
    natsOptions *settings = NULL;
    natsStatus s = natsOptions_Create(&settings);
    if (s == NATS_OK)
        s = set_options(settings, broker);
    if (s == NATS_OK)
        s = natsConnection_Connect(&broker->connection, settings);
    natsOptions_Destroy(settings);
    if (s == NATS_OK)
        s = natsConnection_JetStream(&broker->stream, broker->connection, NULL);
    if (s == NATS_OK)
        return 0;
    char what[WIRE_SUBJECT_SIZE];
    const char *at = strrchr(options->url, '@'); /* no password is shown */
    snprintf(what, sizeof(what), "connecting to the broker at %s",
             at != NULL ? at + 1 : options->url);
    return broker_fault(fault, s, what);
}

void broker_close(struct broker *broker)
{
    jsCtx_Destroy(broker->stream);
    natsConnection_Destroy(broker->connection);
    broker->stream = NULL;
    broker->connection = NULL;
}

int broker_ask(struct broker *broker, const char *subject, const void *data, size_t length,
               bool *ret_go)
{
    natsMsg *answer = NULL;
    natsStatus s = natsConnection_Request(&answer, broker->connection, subject, data, (int)length,
                                          WIRE_REQUEST_MS);
    if (s == NATS_OK)
        *ret_go = natsMsg_GetDataLength(answer) == (int)strlen(WIRE_GO) &&
                  memcmp(natsMsg_GetData(answer), WIRE_GO, strlen(WIRE_GO)) == 0;
    natsMsg_Destroy(answer);
    if (s == NATS_NO_RESPONDERS)
        return -ENOENT;
    return s == NATS_OK ? 0 : -ETIMEDOUT;
}
