/*
 * Names of hosts in their one canonical form: lower case, no dot at the end, labels of a to z, 0 to 9,
 * '-' and '_'.
 *
 * Side: both. Source: RFC 1035, 2.3; RFC 2181, 11.
 */
#ifndef SANDBOX_NETWORK_HOST_NAME_H
#define SANDBOX_NETWORK_HOST_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_NAME_MAX_LENGTH 253
#define HOST_NAME_SIZE (HOST_NAME_MAX_LENGTH + 1)
#define HOST_LABEL_MAX 63

/* Makes the name canonical. False: no host can have it. `length` counts no NUL. */
bool host_name_read(const char *text, size_t length, char ret_name[HOST_NAME_SIZE]);

/* Whether a canonical name is "localhost" or below it: RFC 6761, 6.3. */
bool host_name_is_local(const char *name);

/* Whether a canonical name looks like an address: its last label is a number, decimal or "0x" and hex. */
bool host_name_is_numeric(const char *name);

/* Whether a canonical name is below the domain, at any depth. */
bool host_name_is_below(const char *name, const char *domain);

#endif
