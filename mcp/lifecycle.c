#include "mcp/lifecycle.h"
#include "interpreter/base/bounds.h"
#include "mcp/resources/resources.h"
#include "sandbox/base/owned.h"

#define KEY_VERSION "io.modelcontextprotocol/protocolVersion"
#define KEY_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

#define KEY_LOG_LEVEL "io.modelcontextprotocol/logLevel"

#define INSTRUCTIONS_MAX 1024

/* What a program misses in a weaker tier. */
static const char *lack_of(enum tier tier)
{
    static const char *const lacks[TIER_COUNT] = {
        [TIER_F] = "",
        [TIER_P] = " /proc has a few files about the machine and none about processes, and "
                   "/dev/fd, /dev/stdin and /dev/stdout do not work.",
        [TIER_C] = " /proc has a few files about the machine and none about processes, "
                   "/dev/fd, /dev/stdin and /dev/stdout do not work, and there are no sockets but "
                   "socketpair().",
        [TIER_L] = " The working directory is not /work: use relative paths and $TMPDIR. There "
                   "is no /proc, no socket but socketpair(), and no multiprocessing Lock, Queue or "
                   "Pool. Changes of modes, owners and times of files are ignored. Programs cannot "
                   "run sys.executable or process.execPath.",
    };
    return lacks[tier];
}

/* What holds of every tool of a server with these settings. Returns `text`. */
static const char *describe(const struct settings *settings, char text[INSTRUCTIONS_MAX])
{
    bool has_network = settings->network.mode != NETWORK_OFF;
    snprintf(text, INSTRUCTIONS_MAX,
             "Runs programs in a sandbox on this computer, with one tool for each language. Each "
             "call is a fresh process in a fresh directory, %sunless it goes on with a session: "
             "send whole programs. Print the values that you want to see. If output is cut, the "
             "result names a resource with the full text. The resource sandbox://environments "
             "lists the installed libraries.%s%s",
             has_network ? "" : "without network, ", lack_of(settings->engine.tier),
             settings->lacks_signals ? " Programs can send signals only to their whole group of "
                                       "processes, with kill(0, ...)."
                                     : "");
    return text;
}

static void write_empty_object(struct json_writer *writer)
{
    json_begin_object(writer);
    json_end_object(writer);
}

static void write_resources_capability(struct json_writer *writer, bool list_changes)
{
    json_key(writer, "resources");
    json_begin_object(writer);
    if (list_changes)
        json_boolean_member(writer, "listChanged", true);
    json_end_object(writer);
}

/* The methods of mcp/extension. */
static void write_extension_capability(struct json_writer *writer)
{
    json_key(writer, "experimental");
    json_begin_object(writer);
    json_key(writer, "code-sandbox");
    json_begin_object(writer);
    json_number_member(writer, "version", 1);
    json_end_object(writer);
    json_end_object(writer);
}

/* Capabilities of the server, and how to use it. */
static void write_introduction(struct json_writer *writer, enum version version,
                               const struct context *context)
{
    char instructions[INSTRUCTIONS_MAX];
    json_key(writer, "capabilities");
    json_begin_object(writer);
    json_key(writer, "tools");
    write_empty_object(writer);
    write_resources_capability(writer, context->listener != NULL && resources_list_files(version));
    if (context->settings->sessions > 0)
        write_extension_capability(writer);
    json_end_object(writer);
    json_text_member(writer, "instructions", describe(context->settings, instructions));
}

static void write_initialized(struct json_writer *writer, enum version version, const void *data)
{
    json_text_member(writer, "protocolVersion", version_name(version));
    json_key(writer, "serverInfo");
    reply_write_implementation(writer, version, false);
    write_introduction(writer, version, data);
}

/* Its later messages are read as this version has them. */
static void client_agree(struct client *client, enum version version)
{
    client->version = version;
    client->is_initialized = false;
    client->rpc.batches = version == VERSION_2025_03_26;
    client->rpc.null_ids = version < VERSION_2025_11_25;
}

void lifecycle_initialize(struct context *context, const struct rpc_message *message,
                          const struct reply *reply)
{
    const struct json_value *asked = json_member(message->params, "protocolVersion");
    if (message->in_batch) {
        rpc_answer_error(reply->answer, RPC_INVALID_REQUEST,
                         "initialize must not be part of a batch");
        return;
    }
    if (asked == NULL || asked->type != JSON_STRING) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS,
                         "initialize needs protocolVersion, a string such as \"%s\"",
                         version_name(VERSION_NEWEST_HANDSHAKE));
        return;
    }
    enum version version = version_find(asked);
    if (version == VERSION_NONE || version > VERSION_NEWEST_HANDSHAKE)
        version = VERSION_NEWEST_HANDSHAKE;
    client_agree(client_of(reply->answer), version);
    const struct reply agreed = {reply->answer, version, TTL_NONE};
    reply_result(&agreed, &(struct result_body){.write = write_initialized, .data = context});
}

void lifecycle_confirm(struct client *client)
{
    client->is_initialized = client->version != VERSION_NONE;
}

void lifecycle_ping(struct context *context, const struct rpc_message *message,
                    const struct reply *reply)
{
    (void)context;
    (void)message;
    reply_nothing(reply);
}

/* Only versions without a handshake: the others are negotiated by the handshake. */
static void write_supported(struct json_writer *writer, const char *member)
{
    json_key(writer, member);
    json_begin_array(writer);
    json_text(writer, version_name(VERSION_STATELESS));
    json_end_array(writer);
}

static void write_discovered(struct json_writer *writer, enum version version, const void *data)
{
    write_supported(writer, "supportedVersions");
    write_introduction(writer, version, data);
}

void lifecycle_discover(struct context *context, const struct rpc_message *message,
                        const struct reply *reply)
{
    (void)message;
    reply_result(reply, &(struct result_body){
                            .write = write_discovered, .data = context, .introduces = true});
}

bool lifecycle_is_stateless(const struct rpc_message *message)
{
    const struct json_value *meta = json_member(message->params, "_meta");
    return json_member(meta, KEY_VERSION) != NULL || json_member(meta, KEY_CAPABILITIES) != NULL;
}

static void write_unsupported(struct json_writer *writer, const void *data)
{
    const struct json_value *requested = data;
    json_begin_object(writer);
    write_supported(writer, "supported");
    json_key(writer, "requested");
    json_string(writer, requested->text, requested->length < ID_MAX ? requested->length : ID_MAX);
    json_end_object(writer);
}

/* Nothing is logged to clients, but a wrong level is a mistake of the client's, which it should hear of. */
static bool is_log_level(const struct json_value *level)
{
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    bool is_known = level == NULL || level->type == JSON_NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(levels) && !is_known; i++)
        is_known = json_is(level, levels[i]);
    return is_known;
}

int lifecycle_read_version(const struct rpc_message *message, struct rpc_answer *answer,
                           enum version *ret_version)
{
    const struct json_value *meta = json_member(message->params, "_meta");
    const struct json_value *name = json_member(meta, KEY_VERSION);
    const struct json_value *capabilities = json_member(meta, KEY_CAPABILITIES);
    enum version version = version_find(name);
    if (name == NULL || name->type != JSON_STRING)
        rpc_answer_error(answer, RPC_INVALID_PARAMS,
                         "_meta needs \"" KEY_VERSION "\", a string such as \"%s\"",
                         version_name(VERSION_STATELESS));
    else if (version < VERSION_STATELESS)
        rpc_answer_error_with(answer, RPC_UNSUPPORTED_VERSION, "this version is not supported",
                              write_unsupported, name);
    else if (capabilities == NULL || capabilities->type != JSON_OBJECT)
        rpc_answer_error(answer, RPC_INVALID_PARAMS,
                         "_meta needs \"" KEY_CAPABILITIES "\", an object");
    else if (!is_log_level(json_member(meta, KEY_LOG_LEVEL)))
        rpc_answer_error(answer, RPC_INVALID_PARAMS,
                         "\"" KEY_LOG_LEVEL "\" must be one of debug, info, notice, warning, "
                         "error, critical, alert, emergency");
    else if (message->in_batch)
        rpc_answer_error(answer, RPC_INVALID_REQUEST, "version %s has no batches",
                         version_name(version));
    else {
        *ret_version = version;
        return 0;
    }
    return 1;
}
