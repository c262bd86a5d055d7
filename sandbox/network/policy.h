/*
 * What snippets may reach: the operator's rules, and the decisions by them.
 *
 * The server reads the rules for their errors, and `network check` for its answer; the broker decides by
 * them. It gets them as text (policy_write(), policy_read()).
 *
 * Side: both.
 */
#ifndef SANDBOX_NETWORK_POLICY_H
#define SANDBOX_NETWORK_POLICY_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"
#include "sandbox/network/address.h"
#include "sandbox/network/host_name.h"
#include "sandbox/network/proxy_url.h"
#include "sandbox/network/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum network_mode {
    NETWORK_OFF,
    NETWORK_ALLOW, /* what is listed */
    NETWORK_ON,    /* the public internet, and what is listed */
};

#define POLICY_RULES_MAX 1024 /* of each list */
#define POLICY_TEXT_MAX 65536 /* bytes of policy_write() */

enum rule_list {
    RULES_ALLOW,
    RULES_DENY,
    RULES_MAP,
    RULES_DIRECT, /* hosts that are reached without the proxy */
    RULE_LISTS,
};

struct policy_rule {
    char *text;        /* owned; as written */
    bool is_address;   /* a range of addresses, else a name */
    bool is_below;     /* all names below the name, not the name itself */
    bool any_port;
    uint16_t ports[2]; /* 0: none */
    char name[HOST_NAME_SIZE];
    struct address prefix; /* of RULES_MAP: where the name leads */
    unsigned bits;
    uint16_t to_port; /* of RULES_MAP */
};

struct policy_rules {
    struct policy_rule *list; /* owned */
    size_t count;
};

struct policy {
    enum network_mode mode;
    uint64_t byte_limit; /* of a run, both ways together */
    struct policy_rules rules[RULE_LISTS];
    struct proxy proxy;
};

#define POLICY_BYTE_LIMIT_DEFAULT (UINT64_C(1) << 30)
#define POLICY_OFF ((struct policy){.byte_limit = POLICY_BYTE_LIMIT_DEFAULT})

void policy_release(struct policy *policy);

/*
 * Adds a rule: "api.example.org", "*.example.org", "host:5432", "host:*", "192.0.2.7", "10.1.0.0/16:5432",
 * "[2001:db8::/32]:443". Without a port, RULES_ALLOW means 80 and 443, RULES_DENY every port. RULES_MAP:
 * "NAME:PORT=ADDRESS:PORT". RULES_DIRECT: names and ranges, of which the ports do not count. 0; or -EINVAL or -ENOMEM with a fault that says what to write instead.
 */
int policy_add(struct policy *policy, enum rule_list list, const char *text, struct fault *fault);

struct policy_verdict {
    enum refusal refusal;
    const char *rule; /* that decided, borrowed from the policy; NULL: none of the operator's */
    bool by_address;  /* a rule admits the address itself */
};

/*
 * Whether the name may be resolved: some port of it may be reached. A name below "arpa" that no rule lists
 * must be that of an address which may be reached: RFC 1035, 3.5; RFC 3596, 2.5.
 */
struct policy_verdict policy_judge_name(const struct policy *policy, const char *name);

/* Whether the port of the named host may be reached, wherever it is. */
struct policy_verdict policy_judge_host(const struct policy *policy, const char *name,
                                        uint16_t port);

/*
 * Whether a client that was let in to `host`, a name or an address as text, may name `claimed` over the
 * connection: the same host, or another that it could have connected to. Whoever may connect to an address
 * may name what is served there, but for names that are denied.
 */
struct policy_verdict policy_judge_claim(const struct policy *policy, const char *host,
                                         const char *claimed, uint16_t port);

/* Whether rules deny any name. */
bool policy_denies_names(const struct policy *policy);

#define POLICY_PORTS_MAX 16

struct policy_ports {
    bool all;
    uint16_t list[POLICY_PORTS_MAX];
    size_t count;
};

bool policy_ports_have(const struct policy_ports *ports, uint16_t port);

/*
 * Adds the ports at which rules deny this name, by which a host goes as well. A refusal: these are now all
 * ports, because a rule says so or more would not fit; or it is the reverse name of an address that may not be reached.
 */
struct policy_verdict policy_judge_alias(const struct policy *policy, const char *name,
                                         struct policy_ports *denied);

/*
 * Whether the address may be dialled. `by_name`: for a named host that may be reached. `port` 0: on some
 * port. Does not know the host's own addresses.
 */
struct policy_verdict policy_judge_address(const struct policy *policy, bool by_name,
                                           const struct address *address, uint16_t port);

/*
 * Whether the host is reached through the proxy: then the proxy resolves its name. `address` may be NULL:
 * not known.
 */
bool policy_is_proxied(const struct policy *policy, const char *name,
                       const struct address *address);

/* Where the operator leads this port of the host instead; NULL: nowhere. */
const struct policy_rule *policy_find_map(const struct policy *policy, const char *name,
                                          uint16_t port);
/* Whether any port of the host is led elsewhere. */
bool policy_has_map(const struct policy *policy, const char *name);

/* As text, and back. 0 or a negative errno. */
int policy_write(const struct policy *policy, struct buffer *text);
int policy_read(const char *text, size_t length, struct policy *ret_policy);

#endif
