/*
 * What the operator says of the network: --network, --allow-host, --deny-host and --map-host.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_NETWORK_SETTINGS_H
#define INTERPRETER_SETTINGS_NETWORK_SETTINGS_H

#include "sandbox/base/fault.h"
#include "sandbox/network/policy.h"

/* The choices of --network are those of enum network_mode; this is none of them. */
#define NETWORK_UNSAID 3

/* Adds the rules of a list, separated by commas. 0, or a negative errno with its fault. */
int network_settings_add(struct policy *policy, enum rule_list list, const char *what,
                         const char *value, struct fault *fault);

/*
 * Decides on policy->mode by what was said, and on its proxy: "none", an address, or with NULL that of the
 * environment (HTTPS_PROXY, ALL_PROXY, HTTP_PROXY, and NO_PROXY). 0, or -EINVAL with its fault.
 */
int network_settings_complete(struct policy *policy, unsigned said, const char *proxy,
                              struct fault *fault);

/*
 * Reads the file of certificates that was said, or with NULL the one in SSL_CERT_FILE; "none" is neither. 0; or
 * a negative errno with its fault, also if the file said has no certificate. An unusable file of the variable
 * is told in the log.
 */
int network_settings_read_certificates(const char *path, struct buffer *certificates,
                                       struct fault *fault);

#endif
