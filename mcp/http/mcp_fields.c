#include "mcp/http/mcp_fields.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"

#include <string.h>

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define ENCODED_BEGIN "=?base64?"
#define ENCODED_END "?="

/* What is no plain text in a field comes as =?base64?...?=. */
static bool is_encoded(const char *field, const struct json_value *value)
{
    size_t length = strlen(field);
    size_t around = strlen(ENCODED_BEGIN ENCODED_END);
    if (length < around || memcmp(field, ENCODED_BEGIN, strlen(ENCODED_BEGIN)) != 0 ||
        strcmp(field + length - strlen(ENCODED_END), ENCODED_END) != 0)
        return false;
    OWNED(buffer_release) struct buffer bytes = BUFFER(HTTP_HEAD_MAX);
    size_t wrong = 0;
    return base64_decode(&bytes, field + strlen(ENCODED_BEGIN), length - around, &wrong) == 0 &&
           bytes.length == value->length &&
           (bytes.length == 0 || memcmp(bytes.data, value->text, bytes.length) == 0);
}

/* A value that is no string is for the method to refuse. */
static bool is_right(struct http_exchange *exchange, const char *name,
                     const struct json_value *value)
{
    const char *field = http_exchange_field(exchange, name);
    if (value == NULL || value->type != JSON_STRING)
        return true;
    return field != NULL && (json_is(value, field) || is_encoded(field, value));
}

const char *mcp_fields_find_wrong(struct http_exchange *exchange, const struct rpc_message *message)
{
    const struct json_value *meta = json_member(message->params, "_meta");
    const struct json_value *name = NULL;
    if (json_is(message->method, "tools/call"))
        name = json_member(message->params, "name");
    else if (json_is(message->method, "resources/read"))
        name = json_member(message->params, "uri");
    if (!is_right(exchange, "Mcp-Protocol-Version", json_member(meta, META_VERSION)))
        return "Mcp-Protocol-Version";
    if (!is_right(exchange, "Mcp-Method", message->method))
        return "Mcp-Method";
    return is_right(exchange, "Mcp-Name", name) ? NULL : "Mcp-Name";
}
