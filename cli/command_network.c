#include "cli/command.h"
#include "interpreter/base/log.h"
#include "interpreter/network_text.h"
#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings_read.h"
#include "sandbox/base/owned.h"
#include "sandbox/network/reach.h"

#include <netdb.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

#define PORT_DEFAULT 443
#define PORT_DNS 53

/* Reads "HOST", "HOST:PORT", "ADDRESS:PORT" and "[ADDRESS]:PORT" as a rule, which knows how. */
static int read_target(const char *text, struct policy *target, struct fault *fault)
{
    int r = policy_add(target, RULES_ALLOW, text, fault);
    const struct policy_rule *rule = r == 0 ? target->rules[RULES_ALLOW].list : NULL;
    if (r == 0 &&
        (rule->is_below || rule->any_port || (rule->is_address && rule->bits != ADDRESS_BITS)))
        return fault_set(fault, EINVAL, "\"%s\" is not one host with one port", text);
    return r;
}

static int answer(const char *host, uint16_t port, const struct reach *reach,
                  const struct address *address)
{
    const struct policy_verdict *verdict = &reach->verdict;
    bool is_refused = verdict->refusal != REFUSAL_NONE;
    char text[ADDRESS_TEXT_MAX] = "";
    if (address != NULL)
        address_format(address, text);
    printf("%s: %s:%u", is_refused ? "no" : "yes", host, port);
    if (address != NULL && strcmp(text, host) != 0)
        printf(" at %s", text);
    if (is_refused)
        printf(" %s", network_text_refusal(verdict->refusal, address != NULL));
    if (reach->is_proxied)
        printf(" through the proxy");
    if (verdict->rule != NULL)
        printf(" (rule %s)", verdict->rule);
    putchar('\n');
    return is_refused ? EXIT_FAILED : EXIT_DONE;
}

/* As the broker asks: without domains to search, and for IPv6 addresses only where there are no others. */
static int resolve(const char *name, struct addrinfo **ret_found)
{
    struct addrinfo hints = {
        .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME};
    res_init();
    _res.options &= ~(unsigned long)(RES_DNSRCH | RES_DEFNAMES);
    int r = getaddrinfo(name, NULL, &hints, ret_found);
    if (r == 0 || r == EAI_AGAIN || r == EAI_FAIL)
        return r;
    hints.ai_family = AF_INET6;
    return getaddrinfo(name, NULL, &hints, ret_found);
}

/* The name that it leads to may be denied. */
static struct policy_verdict judge_alias(const struct policy *policy, const char *alias,
                                         uint16_t port)
{
    struct policy_ports denied = {0};
    char name[HOST_NAME_SIZE];
    struct policy_verdict verdict = {.refusal = REFUSAL_NONE};
    if (alias == NULL || !host_name_read(alias, strlen(alias), name))
        return verdict;
    verdict = policy_judge_alias(policy, name, &denied);
    if (policy_ports_have(&denied, port))
        verdict.refusal = REFUSAL_DENIED;
    return verdict;
}

/* The addresses of a host that may be reached by its name are judged as well. */
static int check_addresses(const struct policy *policy, const char *name, uint16_t port,
                           const struct reach *by_name)
{
    struct addrinfo *found = NULL;
    int r = resolve(name, &found);
    if (r != 0) {
        answer(name, port, by_name, NULL);
        printf("But it has no address now: %s\n", gai_strerror(r));
        return EXIT_DONE;
    }
    int status = EXIT_FAILED;
    const struct policy_verdict alias = judge_alias(policy, found->ai_canonname, port);
    for (const struct addrinfo *each = found; each != NULL; each = each->ai_next) {
        struct address address;
        if (!address_from_socket(each->ai_addr, &address))
            continue;
        struct reach reach = reach_judge_address(policy, true, &address, port);
        if (alias.refusal != REFUSAL_NONE)
            reach.verdict = alias;
        if (reach.verdict.refusal == REFUSAL_NONE && reach.verdict.rule == NULL)
            reach.verdict.rule = by_name->verdict.rule;
        if (answer(name, port, &reach, &address) == EXIT_DONE)
            status = EXIT_DONE;
    }
    freeaddrinfo(found);
    return status;
}

static int refuse(const char *host, uint16_t port, const char *why)
{
    printf("no: %s:%u %s\n", host, port, why);
    return EXIT_FAILED;
}

static int check(const struct policy *policy, const struct policy_rule *target)
{
    uint16_t port = target->ports[1] != 0 ? PORT_DEFAULT : target->ports[0];
    bool is_ipv6 = target->is_address && !address_is_ipv4(&target->prefix);
    char address[ADDRESS_TEXT_MAX];
    char text[ADDRESS_TEXT_MAX + 2];
    address_format(&target->prefix, address);
    snprintf(text, sizeof(text), is_ipv6 ? "[%s]" : "%s", address);
    const char *host = target->is_address ? text : target->name;
    if (policy->mode == NETWORK_OFF) {
        puts("no: snippets have no network (--network, --allow-host)");
        return EXIT_FAILED;
    }
    if (port == PORT_DNS)
        return refuse(host, port, "is the DNS of the sandbox, whatever the host");
    if (is_ipv6)
        return refuse(
            host, port,
            "is an address of IPv6, which sandboxes do not have: it is reached by a name");
    const struct reach reach = target->is_address
                                   ? reach_judge_address(policy, false, &target->prefix, port)
                                   : reach_judge_host(policy, host, port);
    if (target->is_address)
        return answer(host, port, &reach, &target->prefix);
    if (reach.verdict.refusal != REFUSAL_NONE || reach.map != NULL || reach.is_proxied)
        return answer(host, port, &reach, NULL);
    return check_addresses(policy, host, port, &reach);
}

static int run(const struct command *command, int argc, char **argv)
{
    OWNED(settings_release) struct settings settings = settings_default();
    OWNED(policy_release) struct policy target = POLICY_OFF;
    void *const data[] = {&settings, &settings, &settings, &settings, &settings};
    struct fault fault = {0};
    int operands = argc;
    int status;
    if (command_read_options(command, argc, argv, data, &operands, &status) != 0)
        return status;
    int r = 0;
    if (operands > 0 && strcmp(argv[0], "check") != 0)
        r = fault_set(&fault, EINVAL, "there is no `network %.*s`: use `network check`",
                      command_shown_length(argv[0]), argv[0]);
    else if (operands != 2)
        r = fault_set(&fault, EINVAL, "`network check` takes one host");
    if (r == 0)
        r = settings_read(&settings, &fault);
    if (r == 0)
        r = read_target(argv[1], &target, &fault);
    if (r < 0)
        return command_refuse(command, &fault);
    const struct policy_rules *rules = &target.rules[RULES_ALLOW];
    return rules->list != NULL ? check(&settings.network, rules->list) : EXIT_USAGE;
}

const struct command command_network = {
    .name = "network",
    .usage = "network check HOST[:PORT] [OPTIONS]",
    .summary = "check whether snippets may reach a host, and why",
    .help =
        "Says whether snippets may reach a host, at port 443 or that port, and by which rule. Takes the\n"
        "options of the server. Exit status: 0 yes, 1 no, 2 wrong usage.\n",
    .options = setting_tables,
    .run = run,
};
