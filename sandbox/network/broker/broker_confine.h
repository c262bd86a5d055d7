/*
 * The walls around the broker, which reads what snippets and the internet send.
 *
 * Side: the broker.
 */
#ifndef SANDBOX_NETWORK_BROKER_BROKER_CONFINE_H
#define SANDBOX_NETWORK_BROKER_BROKER_CONFINE_H

#include "sandbox/base/fault.h"

/* Once the epoll descriptor is there. 0, or a negative errno with its fault. */
int confine_broker(struct fault *fault);

#endif
