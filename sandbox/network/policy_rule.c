/* Reads the rules of a policy. */
#include "sandbox/network/policy.h"

#include "sandbox/base/owned.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"
#define RULE_TEXT_MAX 400 /* bytes: a name, a port and an address */
static const uint16_t usual_ports[2] = {80, 443};

static int refuse(struct fault *fault, const char *text, const char *remedy)
{
    return fault_set(fault, EINVAL, "\"%s\" names no host: %s", text, remedy);
}

static bool read_port(const char *text, uint16_t *ret_port)
{
    size_t length = strlen(text);
    if (length == 0 || length > 5 || strspn(text, DIGITS) != length || text[0] == '0')
        return false;
    unsigned long port = strtoul(text, NULL, 10);
    *ret_port = (uint16_t)port;
    return port <= UINT16_MAX;
}

/*
 * Cuts ":PORT" off the end, and with brackets around the host those, too. False: the brackets are wrong.
 * *ret_port is NULL if there is none.
 */
static bool split_port(char *text, char **ret_host, char **ret_port)
{
    *ret_host = text;
    *ret_port = NULL;
    char *colon = strrchr(text, ':');
    if (text[0] == '[') {
        char *end = strchr(text, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return false;
        colon = end[1] == ':' ? end + 1 : NULL;
        *end = '\0';
        *ret_host = text + 1;
    }
    if (colon != NULL) {
        *colon = '\0';
        *ret_port = colon + 1;
    }
    return true;
}

/* Clears the bits behind the prefix. */
static struct address first_of(const struct address *address, unsigned bits)
{
    struct address first = *address;
    for (unsigned bit = bits; bit < ADDRESS_BITS; bit++)
        first.bytes[bit / 8] &= (uint8_t)~(0x80U >> (bit % 8));
    return first;
}

/* "192.0.2.0/24". 1: it is no address. */
static int read_range(struct policy_rule *rule, const char *text, char *host, struct fault *fault)
{
    char *slash = strchr(host, '/');
    if (slash != NULL)
        *slash = '\0';
    if (!address_parse(host, &rule->prefix))
        return 1;
    bool is_ipv4 = address_is_ipv4(&rule->prefix);
    unsigned offset = is_ipv4 ? ADDRESS_IPV4_AT : 0;
    unsigned long bits = ADDRESS_BITS - offset;
    if (slash != NULL) {
        const char *number = slash + 1;
        size_t length = strlen(number);
        bool is_number = length > 0 && length <= 3 && strspn(number, DIGITS) == length;
        if (!is_number || strtoul(number, NULL, 10) > bits)
            return fault_set(fault, EINVAL,
                             "\"%s\" is no range of addresses: write a number from 0 to %lu "
                             "after the '/'",
                             text, bits);
        bits = strtoul(number, NULL, 10);
    }
    rule->is_address = true;
    rule->bits = offset + (unsigned)bits;
    struct address first = first_of(&rule->prefix, rule->bits);
    if (!address_is_same(&first, &rule->prefix)) {
        char right[ADDRESS_TEXT_MAX];
        address_format(&first, right);
        return fault_set(fault, EINVAL,
                         "\"%s\" is no range of addresses: its first address is %s, so write "
                         "%s/%lu",
                         text, right, right, bits);
    }
    return 0;
}

static int read_name(struct policy_rule *rule, enum rule_list list, const char *text,
                     const char *host, struct fault *fault)
{
    if (strcmp(host, "*") == 0)
        return refuse(fault, text, "for all public hosts use --network on, for none --network off");
    rule->is_below = strncmp(host, "*.", 2) == 0;
    const char *name = rule->is_below ? host + 2 : host;
    if (strchr(name, '*') != NULL)
        return refuse(fault, text, "a '*' can only be the whole first label, as in *.example.org");
    if (strstr(text, "://") != NULL || strchr(text, '/') != NULL)
        return refuse(fault, text, "write the host alone, without a scheme and without a path");
    for (const char *c = name; *c != '\0'; c++) {
        if ((unsigned char)*c >= 0x80)
            return refuse(fault, text,
                          "write the name as it is in DNS, with labels that begin with xn--");
    }
    if (!host_name_read(name, strlen(name), rule->name))
        return refuse(fault, text,
                      "a name consists of labels of letters, digits, '-' and '_', with dots "
                      "between them");
    if (rule->is_below && list == RULES_ALLOW && strchr(rule->name, '.') == NULL)
        return refuse(fault, text, "that would be a whole top-level domain");
    if (host_name_is_numeric(rule->name))
        return refuse(fault, text, "write an IPv4 address as four decimal numbers");
    if (host_name_is_local(rule->name))
        return refuse(fault, text,
                      "it is the sandbox itself; to lead a name to a service of this machine, "
                      "use --map-host NAME:PORT=127.0.0.1:PORT");
    return 0;
}

static int read_host(struct policy_rule *rule, enum rule_list list, const char *text, char *host,
                     struct fault *fault)
{
    if (host[0] == '\0')
        return refuse(fault, text, "it is empty");
    OWNED_MEMORY char *copy = strdup(host);
    if (copy == NULL)
        return fault_set(fault, ENOMEM, "reading a rule of the network: %m");
    int r = read_range(rule, text, copy, fault);
    return r == 1 ? read_name(rule, list, text, host, fault) : r;
}

static int refuse_port(struct fault *fault, const char *text)
{
    return fault_set(fault, EINVAL,
                     "\"%s\" has no port that exists: write a number from 1 to 65535, or * "
                     "for every port",
                     text);
}

static int read_rule(struct policy_rule *rule, enum rule_list list, const char *text,
                     struct fault *fault)
{
    OWNED_MEMORY char *copy = strdup(text);
    if (copy == NULL)
        return fault_set(fault, ENOMEM, "reading a rule of the network: %m");
    const char *colon = strchr(copy, ':');
    if (copy[0] != '[' && colon != NULL && strchr(colon + 1, ':') != NULL)
        return refuse(fault, text, "write an IPv6 address in brackets, as in [2001:db8::1]:443");
    if (strstr(copy, "://") != NULL)
        return refuse(fault, text, "write the host alone, without a scheme and without a path");
    char *host;
    char *port;
    if (!split_port(copy, &host, &port))
        return refuse(fault, text, "write an IPv6 address in brackets, as in [2001:db8::1]:443");
    int r = read_host(rule, list, text, host, fault);
    if (r < 0)
        return r;
    if (port == NULL) {
        rule->any_port = list == RULES_DENY;
        memcpy(rule->ports, usual_ports, sizeof(usual_ports));
    } else if (strcmp(port, "*") == 0) {
        rule->any_port = true;
    } else if (!read_port(port, &rule->ports[0])) {
        return refuse_port(fault, text);
    }
    return 0;
}

static int refuse_map(struct fault *fault, const char *text)
{
    return fault_set(fault, EINVAL,
                     "\"%s\" leads no host anywhere: write NAME:PORT=ADDRESS:PORT, as in "
                     "db.internal:5432=127.0.0.1:5432",
                     text);
}

static int read_map(struct policy_rule *rule, const char *text, struct fault *fault)
{
    OWNED_MEMORY char *copy = strdup(text);
    if (copy == NULL)
        return fault_set(fault, ENOMEM, "reading a rule of the network: %m");
    char *equals = strchr(copy, '=');
    if (equals == NULL)
        return refuse_map(fault, text);
    *equals = '\0';
    char *host;
    char *port;
    char *to;
    char *to_port;
    if (!split_port(copy, &host, &port) || !split_port(equals + 1, &to, &to_port) || port == NULL ||
        to_port == NULL)
        return refuse_map(fault, text);
    int r = read_name(rule, RULES_MAP, host, host, fault);
    if (r < 0)
        return r;
    if (rule->is_below || !read_port(port, &rule->ports[0]) ||
        !read_port(to_port, &rule->to_port) || !address_parse(to, &rule->prefix))
        return refuse_map(fault, text);
    return 0;
}

int policy_add(struct policy *policy, enum rule_list list, const char *text, struct fault *fault)
{
    struct policy_rules *rules = &policy->rules[list];
    if (rules->count == POLICY_RULES_MAX)
        return fault_set(fault, EINVAL, "there are more than %d rules of the network",
                         POLICY_RULES_MAX);
    if (strlen(text) > RULE_TEXT_MAX)
        return fault_set(fault, EINVAL, "a rule of the network has more than %d bytes",
                         RULE_TEXT_MAX);
    if (strpbrk(text, " \t\r\n") != NULL)
        return refuse(fault, text, "it contains white space");
    struct policy_rule rule = {0};
    int r = list == RULES_MAP ? read_map(&rule, text, fault) : read_rule(&rule, list, text, fault);
    if (r < 0)
        return r;
    struct policy_rule *grown = reallocarray(rules->list, rules->count + 1, sizeof(*rules->list));
    if (grown == NULL)
        return fault_set(fault, ENOMEM, "reading a rule of the network: %m");
    rules->list = grown;
    rule.text = strdup(text);
    if (rule.text == NULL)
        return fault_set(fault, ENOMEM, "reading a rule of the network: %m");
    rules->list[rules->count++] = rule;
    return 0;
}
