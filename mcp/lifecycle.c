#include "mcp/lifecycle.h"
#include "sandbox/base/owned.h"

#include <string.h>

struct version {
    const char *name;
    bool batches;
};

/* Those that begin with a handshake, the newest first. */
static const struct version versions[] = {
    {"2025-11-25", false},
    {"2025-06-18", false},
    {"2025-03-26", true},
    {"2024-11-05", false},
};

static const char instructions[] =
    "Runs Python and JavaScript in a sandbox on this computer. Each call starts afresh, in an "
    "empty directory without network: nothing is kept from one call to the next, so send whole "
    "programs. Print what you want to see. The resource sandbox://environments tells which "
    "libraries are there.";

/* The version that was asked for if it is known, else the newest. */
static const struct version *choose_version(const struct json_value *asked)
{
    for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
        if (json_is(asked, versions[i].name))
            return &versions[i];
    }
    return &versions[0];
}

static void write_empty_object(struct json_writer *writer)
{
    json_begin_object(writer);
    json_end_object(writer);
}

static void write_initialized(struct json_writer *writer, const void *data)
{
    const struct version *version = data;
    json_begin_object(writer);
    json_text_member(writer, "protocolVersion", version->name);
    json_key(writer, "capabilities");
    json_begin_object(writer);
    json_key(writer, "tools");
    write_empty_object(writer);
    json_key(writer, "resources");
    write_empty_object(writer);
    json_end_object(writer);
    json_key(writer, "serverInfo");
    json_begin_object(writer);
    json_text_member(writer, "name", "code-sandbox");
    json_text_member(writer, "title", "Code sandbox");
    json_text_member(writer, "version", PROJECT_VERSION);
    json_end_object(writer);
    json_text_member(writer, "instructions", instructions);
    json_end_object(writer);
}

void lifecycle_initialize(struct server *server, const struct rpc_message *message,
                          struct rpc_answer *answer)
{
    const struct json_value *asked = json_member(message->params, "protocolVersion");
    if (message->in_batch) {
        rpc_answer_error(answer, RPC_INVALID_REQUEST, "initialize must not be part of a batch");
        return;
    }
    if (asked == NULL || asked->type != JSON_STRING) {
        rpc_answer_error(answer, RPC_INVALID_PARAMS,
                         "initialize needs protocolVersion, a string such as \"%s\"",
                         versions[0].name);
        return;
    }
    const struct version *version = choose_version(asked);
    server->version = version->name;
    server->rpc.batches = version->batches;
    rpc_answer_result(answer, write_initialized, version);
}

static void write_pong(struct json_writer *writer, const void *data)
{
    (void)data;
    write_empty_object(writer);
}

void lifecycle_ping(struct server *server, const struct rpc_message *message,
                    struct rpc_answer *answer)
{
    (void)server;
    (void)message;
    rpc_answer_result(answer, write_pong, NULL);
}
