#include "interpreter/settings/network_settings.h"

#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "interpreter/settings/network_presets.h"
#include "interpreter/settings/small_file.h"
#include "sandbox/base/owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_rule(struct policy *policy, enum rule_list list, const char *rule,
                    struct fault *fault)
{
    if (rule[0] == '\0')
        return fault_set(fault, EINVAL, "between two commas there is no host");
    return rule[0] == '@' ? network_preset_add(policy, list, rule, fault)
                          : policy_add(policy, list, rule, fault);
}

int network_settings_add(struct policy *policy, enum rule_list list, const char *what,
                         const char *value, struct fault *fault)
{
    OWNED_MEMORY char *copy = strdup(value);
    if (copy == NULL)
        return fault_set(fault, ENOMEM, "reading %s: %m", what);
    char *rest = copy;
    for (char *rule; (rule = strsep(&rest, ",")) != NULL;) {
        rule += strspn(rule, " ");
        size_t length = strlen(rule);
        while (length > 0 && rule[length - 1] == ' ')
            rule[--length] = '\0';
        int r = add_rule(policy, list, rule, fault);
        if (r < 0) {
            fault_prefix(fault, "%s", what);
            return r;
        }
    }
    return 0;
}

static int decide_on_mode(struct policy *policy, unsigned said, struct fault *fault)
{
    bool has_rules = policy->rules[RULES_ALLOW].count + policy->rules[RULES_MAP].count > 0;
    if (said == NETWORK_UNSAID) {
        policy->mode = has_rules ? NETWORK_ALLOW : NETWORK_OFF;
        return 0;
    }
    policy->mode = (enum network_mode)said;
    if (policy->mode == NETWORK_OFF && has_rules)
        return fault_set(
            fault, EINVAL,
            "the network is off (--network), but there are hosts to be reached (--allow-host, "
            "--map-host): say --network allow, or name no hosts");
    if (policy->mode == NETWORK_ALLOW && !has_rules)
        return fault_set(fault, EINVAL,
                         "--network allow reaches the hosts that are listed, and none is: add "
                         "--allow-host HOST, or say --network on for all public hosts");
    return 0;
}

/* Lower case is the older spelling, and counts first: curl(1). NULL: none is set. */
static const char *find_variable(const char *const *names, const char **ret_name)
{
    for (; *names != NULL; names++) {
        const char *value = getenv(*names);
        *ret_name = *names;
        if (value != NULL && value[0] != '\0')
            return value;
    }
    return NULL;
}

/* An entry of NO_PROXY: "example.org" is that host and all below. What is no rule is passed over. */
static void add_direct(struct policy *policy, const char *entry)
{
    OWNED_MEMORY char *below = NULL;
    const char *name = entry[0] == '.' ? entry + 1 : entry;
    policy_add(policy, RULES_DIRECT, name, NULL);
    if (asprintf(&below, "*.%s", name) >= 0)
        policy_add(policy, RULES_DIRECT, below, NULL);
    else
        below = NULL;
}

static void read_exceptions(struct policy *policy)
{
    static const char *const variables[] = {"no_proxy", "NO_PROXY", NULL};
    const char *name;
    const char *value = find_variable(variables, &name);
    OWNED_MEMORY char *copy = value != NULL ? strdup(value) : NULL;
    char *rest = NULL;
    if (copy == NULL)
        return;
    for (char *entry = strtok_r(copy, ", ", &rest); entry != NULL;
         entry = strtok_r(NULL, ", ", &rest)) {
        if (strcmp(entry, "*") == 0)
            policy->proxy = (struct proxy){0};
        else
            add_direct(policy, entry);
    }
}

static int decide_on_proxy(struct policy *policy, const char *said, struct fault *fault)
{
    static const char *const variables[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
                                            "http_proxy",  "HTTP_PROXY",  NULL};
    const char *name = "--network-proxy";
    struct fault found = {0};
    if (said != NULL && strcmp(said, "none") == 0)
        return 0;
    const char *url = said != NULL ? said : find_variable(variables, &name);
    if (url == NULL)
        return 0;
    int r = proxy_read(url, &policy->proxy, &found);
    if (r < 0 && said != NULL)
        return fault_set(fault, -r, "%s: %s", name, found.text);
    if (r < 0) /* it is for other programs, too */
        log_note("%s is not used for snippets: %s", name, found.text);
    read_exceptions(policy);
    return 0;
}

int network_settings_complete(struct policy *policy, unsigned said, const char *proxy,
                              struct fault *fault)
{
    int r = decide_on_mode(policy, said, fault);
    return r < 0 || policy->mode == NETWORK_OFF ? r : decide_on_proxy(policy, proxy, fault);
}

static int read_certificates(const char *path, struct buffer *certificates, struct fault *fault)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----";
    static const char end[] = "-----END CERTIFICATE-----";
    int r = small_file_read(path, "the certificates", CERTIFICATES_MAX, certificates, fault);
    if (r == -ENOENT)
        return fault_set(fault, ENOENT, "the certificates %s: %m", path);
    if (r < 0)
        return r;
    const char *found = memmem(certificates->data, certificates->length, begin, strlen(begin));
    if (found == NULL || memmem(found, certificates->length - (size_t)(found - certificates->data),
                                end, strlen(end)) == NULL)
        return fault_set(
            fault, EINVAL,
            "%s has no certificate in PEM form (-----BEGIN CERTIFICATE-----): name the file of "
            "your network's certificate authority",
            path);
    return 0;
}

int network_settings_read_certificates(const char *said, struct buffer *certificates,
                                       struct fault *fault)
{
    const char *path = said != NULL ? said : getenv("SSL_CERT_FILE");
    if (path == NULL || path[0] == '\0' || strcmp(path, "none") == 0)
        return 0;
    int r = read_certificates(path, certificates, fault);
    if (r == 0 || r == -ENOMEM || said != NULL)
        return r;
    /* The variable is for other programs, too. */
    log_note("SSL_CERT_FILE is not used for snippets: %s", fault->text);
    *fault = (struct fault){0};
    certificates->length = 0;
    return 0;
}
