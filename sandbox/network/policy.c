#include "sandbox/network/policy.h"

#include "sandbox/base/owned.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PORT_SMTP 25

void policy_release(struct policy *policy)
{
    for (size_t list = 0; list < RULE_LISTS; list++) {
        struct policy_rules *rules = &policy->rules[list];
        for (size_t i = 0; i < rules->count; i++)
            free(rules->list[i].text);
        free(rules->list);
    }
    *policy = POLICY_OFF;
}

static bool has_port(const struct policy_rule *rule, uint16_t port)
{
    return rule->any_port || rule->ports[0] == port || (port != 0 && rule->ports[1] == port);
}

static bool has_name(const struct policy_rule *rule, const char *name)
{
    if (rule->is_address)
        return false;
    return rule->is_below ? host_name_is_below(name, rule->name) : strcmp(name, rule->name) == 0;
}

/* The first rule for the port of the host. `some`: any port will do. NULL: none. */
static const struct policy_rule *find_host(const struct policy_rules *rules, const char *name,
                                           uint16_t port, bool some)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct policy_rule *rule = &rules->list[i];
        if (has_name(rule, name) && (some || has_port(rule, port)))
            return rule;
    }
    return NULL;
}

/* A range of IPv6 does not hold IPv4 addresses, though these are written as such of IPv6 here. */
static bool has_address(const struct policy_rule *rule, const struct address *address)
{
    return rule->is_address && address_is_ipv4(address) == address_is_ipv4(&rule->prefix) &&
           address_matches(address, &rule->prefix, rule->bits);
}

static const struct policy_rule *find_address(const struct policy_rules *rules,
                                              const struct address *address, uint16_t port,
                                              bool some)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct policy_rule *rule = &rules->list[i];
        if (has_address(rule, address) && (some || has_port(rule, port)))
            return rule;
    }
    return NULL;
}

static struct policy_verdict refused(enum refusal refusal, const struct policy_rule *rule)
{
    return (struct policy_verdict){.refusal = refusal, .rule = rule != NULL ? rule->text : NULL};
}

static struct policy_verdict admitted(const struct policy_rule *rule)
{
    return (struct policy_verdict){
        .rule = rule != NULL ? rule->text : NULL,
        .by_address = rule != NULL && rule->is_address,
    };
}

/* A name of reverse lookups. It tells of its address, and so is judged as that address. */
static struct policy_verdict judge_reverse(const struct policy *policy, const char *name)
{
    struct address address;
    if (!address_parse_reverse(name, &address))
        return refused(REFUSAL_NOT_LISTED, NULL);
    return policy_judge_address(policy, false, &address, 0);
}

struct policy_verdict policy_judge_name(const struct policy *policy, const char *name)
{
    /* A port that is denied leaves the others; port 0 is only in rules for every port. */
    const struct policy_rule *rule = find_host(&policy->rules[RULES_DENY], name, 0, false);
    if (rule != NULL)
        return refused(REFUSAL_DENIED, rule);
    if (host_name_is_numeric(name)) /* an address, written as a name */
        return refused(REFUSAL_NOT_LISTED, NULL);
    rule = find_host(&policy->rules[RULES_MAP], name, 0, true);
    if (rule == NULL)
        rule = find_host(&policy->rules[RULES_ALLOW], name, 0, true);
    if (rule == NULL && policy->mode != NETWORK_ON)
        return refused(REFUSAL_NOT_LISTED, NULL);
    if (rule == NULL && host_name_is_below(name, "arpa"))
        return judge_reverse(policy, name);
    return admitted(rule);
}

struct policy_verdict policy_judge_host(const struct policy *policy, const char *name,
                                        uint16_t port)
{
    const struct policy_rule *rule = find_host(&policy->rules[RULES_DENY], name, port, false);
    if (rule != NULL)
        return refused(REFUSAL_DENIED, rule);
    rule = policy_find_map(policy, name, port);
    if (rule == NULL)
        rule = find_host(&policy->rules[RULES_ALLOW], name, port, false);
    if (rule == NULL && (policy->mode != NETWORK_ON || port == PORT_SMTP))
        return refused(REFUSAL_NOT_LISTED, NULL);
    return admitted(rule);
}

bool policy_denies_names(const struct policy *policy)
{
    const struct policy_rules *rules = &policy->rules[RULES_DENY];
    for (size_t i = 0; i < rules->count; i++) {
        if (!rules->list[i].is_address)
            return true;
    }
    return false;
}

struct policy_verdict policy_judge_claim(const struct policy *policy, const char *host,
                                         const char *claimed, uint16_t port)
{
    struct address address;
    if (strcmp(host, claimed) == 0) /* judged already */
        return admitted(NULL);
    if (address_parse(claimed, &address))
        return policy_judge_address(policy, false, &address, port);
    if (host_name_is_numeric(claimed))
        return refused(REFUSAL_NOT_LISTED, NULL);
    if (!address_parse(host, &address))
        return policy_judge_host(policy, claimed, port);
    const struct policy_rule *rule = find_host(&policy->rules[RULES_DENY], claimed, port, false);
    return rule != NULL ? refused(REFUSAL_DENIED, rule) : admitted(NULL);
}

bool policy_ports_have(const struct policy_ports *ports, uint16_t port)
{
    size_t i = 0;
    while (i < ports->count && ports->list[i] != port)
        i++;
    return ports->all || i < ports->count;
}

struct policy_verdict policy_judge_alias(const struct policy *policy, const char *name,
                                         struct policy_ports *denied)
{
    const struct policy_rules *rules = &policy->rules[RULES_DENY];
    struct address address;
    for (size_t i = 0; i < rules->count; i++) {
        const struct policy_rule *rule = &rules->list[i];
        if (!has_name(rule, name))
            continue;
        if (rule->any_port || denied->count == POLICY_PORTS_MAX) {
            denied->all = true;
            return refused(REFUSAL_DENIED, rule);
        }
        denied->list[denied->count++] = rule->ports[0];
    }
    /* By another name, too, that of an address tells of it. */
    return address_parse_reverse(name, &address) ? policy_judge_name(policy, name) : admitted(NULL);
}

struct policy_verdict policy_judge_address(const struct policy *policy, bool by_name,
                                           const struct address *address, uint16_t port)
{
    const struct policy_rules *denied = &policy->rules[RULES_DENY];
    struct address embedded;
    const struct policy_rule *rule = find_address(denied, address, port, false);
    if (rule == NULL && address_embedded(address, &embedded)) /* the way to it over IPv6 */
        rule = find_address(denied, &embedded, port, false);
    if (rule != NULL)
        return refused(REFUSAL_DENIED, rule);
    rule = find_address(&policy->rules[RULES_ALLOW], address, port, port == 0);
    if (rule != NULL)
        return admitted(rule);
    switch (address_kind(address)) {
    case ADDRESS_PRIVATE:
        return refused(REFUSAL_PRIVATE, NULL);
    case ADDRESS_HOST:
        return refused(REFUSAL_HOST_ITSELF, NULL);
    case ADDRESS_METADATA:
        return refused(REFUSAL_METADATA, NULL);
    case ADDRESS_PUBLIC:
        break;
    }
    if (by_name || (policy->mode == NETWORK_ON && port != PORT_SMTP))
        return admitted(NULL);
    return refused(REFUSAL_NOT_LISTED, NULL);
}

const struct policy_rule *policy_find_map(const struct policy *policy, const char *name,
                                          uint16_t port)
{
    return find_host(&policy->rules[RULES_MAP], name, port, false);
}

bool policy_has_map(const struct policy *policy, const char *name)
{
    return find_host(&policy->rules[RULES_MAP], name, 0, true) != NULL;
}

bool policy_is_proxied(const struct policy *policy, const char *name, const struct address *address)
{
    const struct policy_rules *direct = &policy->rules[RULES_DIRECT];
    if (policy->proxy.host[0] == '\0' || policy_has_map(policy, name))
        return false;
    return find_host(direct, name, 0, true) == NULL &&
           (address == NULL || find_address(direct, address, 0, true) == NULL);
}

static const char *const list_names[RULE_LISTS] = {"allow", "deny", "map", "direct"};

int policy_write(const struct policy *policy, struct buffer *text)
{
    int r =
        buffer_format(text, "mode %d\nlimit %" PRIu64 "\n", (int)policy->mode, policy->byte_limit);
    for (size_t list = 0; list < RULE_LISTS; list++) {
        const struct policy_rules *rules = &policy->rules[list];
        for (size_t i = 0; r == 0 && i < rules->count; i++)
            r = buffer_format(text, "%s %s\n", list_names[list], rules->list[i].text);
    }
    if (r == 0 && policy->proxy.host[0] != '\0')
        r = buffer_format(text, "proxy %s %u %s\n", policy->proxy.host, policy->proxy.port,
                          policy->proxy.login);
    return r;
}

/* "HOST PORT LOGIN" */
static int read_proxy(struct proxy *proxy, const char *value)
{
    const char *port = strchr(value, ' ');
    const char *login = port != NULL ? strchr(port + 1, ' ') : NULL;
    if (login == NULL || port - value >= HOST_NAME_SIZE || strlen(login + 1) >= PROXY_LOGIN_MAX)
        return -EINVAL;
    unsigned long number = strtoul(port + 1, NULL, 10);
    *proxy = (struct proxy){.port = (uint16_t)number};
    memcpy(proxy->host, value, (size_t)(port - value));
    snprintf(proxy->login, sizeof(proxy->login), "%s", login + 1);
    return number > 0 && number <= UINT16_MAX ? 0 : -EINVAL;
}

static int read_line(struct policy *policy, const char *key, const char *value)
{
    if (strcmp(key, "proxy") == 0)
        return read_proxy(&policy->proxy, value);
    for (size_t list = 0; list < RULE_LISTS; list++) {
        if (strcmp(key, list_names[list]) == 0)
            return policy_add(policy, (enum rule_list)list, value, NULL);
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (*end != '\0' || end == value || errno != 0)
        return -EINVAL;
    if (strcmp(key, "limit") == 0)
        policy->byte_limit = number;
    else if (strcmp(key, "mode") == 0 && number <= NETWORK_ON)
        policy->mode = (enum network_mode)number;
    else
        return -EINVAL;
    return 0;
}

int policy_read(const char *text, size_t length, struct policy *ret_policy)
{
    OWNED(policy_release) struct policy policy = POLICY_OFF;
    OWNED_MEMORY char *copy = strndup(text, length);
    if (copy == NULL)
        return -ENOMEM;
    char *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *space = strchr(line, ' ');
        if (space == NULL)
            return -EINVAL;
        *space = '\0';
        int r = read_line(&policy, line, space + 1);
        if (r < 0)
            return r;
    }
    *ret_policy = policy;
    policy = POLICY_OFF;
    return 0;
}
