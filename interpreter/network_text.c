#include "interpreter/network_text.h"

#include "interpreter/base/bounds.h"
#include "interpreter/settings/quantity.h"

#include <stdio.h>
#include <string.h>

#define HOST_TEXT_SIZE (HOST_NAME_SIZE + 16) /* with brackets and a port */

const char *network_mode_name(enum network_mode mode)
{
    static const char *const names[] = {
        [NETWORK_OFF] = "off", [NETWORK_ALLOW] = "allow", [NETWORK_ON] = "on"};
    return names[mode];
}

/* The length of what names the host in a rule: of RULES_MAP, without where it leads. */
static int shown_length(const char *rule)
{
    return (int)strcspn(rule, "=");
}

int network_text_list(const struct policy *policy, struct buffer *text)
{
    static const enum rule_list lists[] = {RULES_ALLOW, RULES_MAP};
    size_t begin = text->length;
    size_t left = policy->rules[RULES_ALLOW].count + policy->rules[RULES_MAP].count;
    size_t shown = 0;
    int r = 0;
    for (size_t l = 0; l < 2; l++) {
        const struct policy_rules *rules = &policy->rules[lists[l]];
        for (size_t i = 0; r == 0 && i < rules->count; i++) {
            const char *rule = rules->list[i].text;
            int length = shown_length(rule);
            bool fits = text->length - begin + (size_t)length <= NETWORK_SHOWN_MAX;
            if (shown == NETWORK_HOSTS_SHOWN_MAX || !fits)
                break;
            r = buffer_format(text, "%s%.*s", shown > 0 ? ", " : "", length, rule);
            shown++;
            left--;
        }
    }
    return r < 0 || left == 0 ? r : buffer_format(text, " and %zu more", left);
}

int network_text_describe(const struct policy *policy, struct buffer *text)
{
    if (policy->mode == NETWORK_ON)
        return buffer_append_text(text,
                                  "It can reach public hosts over TCP, but not this computer's own "
                                  "network, and nothing over UDP");
    int r = buffer_append_text(text, "Over the network it can reach these hosts and no others: ");
    if (r == 0)
        r = network_text_list(policy, text);
    return r < 0 ? r : buffer_append_text(text, " (TCP ports 80 and 443 unless a port is named)");
}

const char *network_text_refusal(enum refusal refusal, bool is_address)
{
    switch (refusal) {
    case REFUSAL_NOT_LISTED:
        return "is not on the list of hosts that may be reached here";
    case REFUSAL_DENIED:
        return "is on the list of hosts that may not be reached here";
    case REFUSAL_PRIVATE:
        return is_address
                   ? "is no address of the public internet, and only those are reached from here"
                   : "leads to no address of the public internet, and only those are reached from "
                     "here";
    case REFUSAL_HOST_ITSELF:
        return is_address ? "is this computer itself, which is not reached from here"
                          : "leads to this computer itself, which is not reached from here";
    case REFUSAL_METADATA:
        return is_address
                   ? "is where clouds keep the credentials of a machine, and is not reached from "
                     "here"
                   : "leads to where clouds keep the credentials of a machine, and is not reached "
                     "from here";
    case REFUSAL_NAME_MISMATCH:
        return "was named on a connection to another host";
    case REFUSAL_PROXY:
        return "was refused by the proxy of this network";
    case REFUSAL_LIMIT:
        return "is not reached any more: the run has used up what it may move over the network";
    case REFUSAL_PROTOCOL:
        return "is reached at ports 80 and 443 only by TLS and HTTP/1 that name it: by a whole ClientHello with its "
               "server name and not encrypted, or a whole request head with its Host";
    case REFUSAL_PORT_TAKEN:
        return "is not reached, because a program in the sandbox listens at the same port of all addresses: "
               "let it listen at 127.0.0.1";
    case REFUSAL_NONE:
    case REFUSAL_COUNT:
        break;
    }
    return "";
}

static bool is_address(const char *host)
{
    struct address address;
    return address_parse(host, &address);
}

/* "host:443", "[2001:db8::1]:443"; without a port the host alone. */
static void write_host(const char *host, uint16_t port, char text[HOST_TEXT_SIZE])
{
    bool is_ipv6 = strchr(host, ':') != NULL;
    int length =
        snprintf(text, HOST_TEXT_SIZE, "%s%s%s", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "");
    if (port != 0)
        snprintf(text + length, HOST_TEXT_SIZE - (size_t)length, ":%u", port);
}

/* What to do about a refusal that the operator can lift. */
static int append_remedy(const struct policy *policy, bool is_model, struct buffer *text)
{
    if (!is_model)
        return buffer_append_text(text, ". --allow-host adds one.\n");
    int r = policy->mode == NETWORK_ALLOW ? buffer_append_text(text, " (") : 0;
    if (r == 0 && policy->mode == NETWORK_ALLOW)
        r = network_text_list(policy, text);
    if (r == 0 && policy->mode == NETWORK_ALLOW)
        r = buffer_append_text(text, ")");
    return r < 0 ? r
                 : buffer_append_text(text, ". Only the person who runs this server can add it.\n");
}

static int advise_on(const struct record_refusal *refusal, const struct policy *policy,
                     bool is_model, struct buffer *text)
{
    char host[HOST_TEXT_SIZE];
    enum refusal reason = (enum refusal)refusal->reason;
    write_host(refusal->host, refusal->port, host);
    int r = buffer_format(text, "Network: %s %s", host,
                          network_text_refusal(reason, is_address(refusal->host)));
    if (r == 0 && reason == REFUSAL_NOT_LISTED)
        return append_remedy(policy, is_model, text);
    if (r == 0 && reason == REFUSAL_LIMIT)
        r = buffer_format(text, " (%s)%s", quantity_size_text(policy->byte_limit).text,
                          refusal->port == 0 ? " or ask of DNS" : "");
    return r < 0 ? r : buffer_append_text(text, ".\n");
}

int network_text_advise(const struct network_record *record, const struct policy *policy,
                        bool is_model, struct buffer *text)
{
    if (record == NULL || policy == NULL)
        return 0;
    if (record->is_lost)
        return buffer_append_text(text,
                                  "Network: what connects the sandbox with the network has failed. "
                                  "The next call has it again.\n");
    int r = 0;
    for (size_t i = 0; r == 0 && i < record->refusal_count && i < NETWORK_LINES_MAX; i++)
        r = advise_on(&record->refusals[i], policy, is_model, text);
    if (r == 0 && record->refusal_count > NETWORK_LINES_MAX)
        r = buffer_format(text, "Network: and %u more were refused.\n",
                          record->refusal_count - NETWORK_LINES_MAX);
    return r;
}

static void write_port(struct json_writer *writer, uint16_t port)
{
    json_key(writer, "port");
    if (port != 0)
        json_number(writer, port);
    else
        json_null(writer);
}

static void write_bytes(struct json_writer *writer, const char *key, uint64_t bytes)
{
    json_number_member(writer, key, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
}

void network_text_write(struct json_writer *writer, const struct policy *policy,
                        const struct network_record *record)
{
    if (record == NULL || policy == NULL) {
        json_null(writer);
        return;
    }
    json_begin_object(writer);
    json_text_member(writer, "mode", network_mode_name(policy->mode));
    json_boolean_member(writer, "complete", !record->is_lost && !record->is_cut);
    json_key(writer, "dns");
    json_begin_object(writer);
    write_bytes(writer, "questions", record->dns_questions);
    write_bytes(writer, "received", record->dns_received);
    write_bytes(writer, "sent", record->dns_sent);
    json_end_object(writer);
    json_key(writer, "hosts");
    json_begin_array(writer);
    for (size_t i = 0; i < record->host_count; i++) {
        const struct record_host *host = &record->hosts[i];
        json_begin_object(writer);
        json_text_member(writer, "host", host->host);
        write_port(writer, host->port);
        write_bytes(writer, "streams", host->streams);
        write_bytes(writer, "received", host->received);
        write_bytes(writer, "sent", host->sent);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_key(writer, "refused");
    json_begin_array(writer);
    for (size_t i = 0; i < record->refusal_count; i++) {
        const struct record_refusal *refusal = &record->refusals[i];
        json_begin_object(writer);
        json_text_member(writer, "host", refusal->host);
        write_port(writer, refusal->port);
        json_text_member(writer, "reason", refusal_name((enum refusal)refusal->reason));
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}
