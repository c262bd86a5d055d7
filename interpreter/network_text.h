/*
 * The network in words: for the model that writes snippets, and for people.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_NETWORK_TEXT_H
#define INTERPRETER_NETWORK_TEXT_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/json.h"
#include "sandbox/network/policy.h"
#include "sandbox/network/record.h"

/* The hosts that may be reached, "api.example.org, db.example.org:5432 and 3 more". 0 or a negative errno. */
int network_text_list(const struct policy *policy, struct buffer *text);

/* What can be reached, for the description of a tool; policy->mode is not NETWORK_OFF. */
int network_text_describe(const struct policy *policy, struct buffer *text);

/*
 * A line, with its newline, for each thing that was refused to a program that failed. `is_model`: and not
 * a person with a command line. NULL record: nothing. 0 or a negative errno.
 */
int network_text_advise(const struct network_record *record, const struct policy *policy,
                        bool is_model, struct buffer *text);

/* The refusal of a host in words: "is not on the list of hosts that may be reached here". Static text. */
const char *network_text_refusal(enum refusal refusal, bool is_address);

/* What the record says of the network: null without a record. */
void network_text_write(struct json_writer *writer, const struct policy *policy,
                        const struct network_record *record);

const char *network_mode_name(enum network_mode mode);

#endif
