/*
 * code-sandbox-mcp-fleet: the only program that speaks NATS. code-sandbox-mcp starts it with a socket as stdin and
 * stdout, to take calls for its sandboxes (take), to have calls run by others (send), or to list those (list).
 *
 * The address of the broker, which may have a password in it, comes by the environment: others can see
 * arguments.
 */
#include "fleet/caller.h"
#include "fleet/census.h"
#include "fleet/lines.h"
#include "fleet/taker.h"
#include "interpreter/base/log.h"
#include "sandbox/base/json.h"
#include "sandbox/base/options.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct fleet_options {
    struct broker_options broker;
    const char *places;
};

#define FAILURE_MAX (8 * FAULT_TEXT_MAX)

#define AT(member) .offset = offsetof(struct fleet_options, member)

static const struct option options[] = {
    {"--pool", "NAME", "", option_keep_text, AT(broker.pool)},
    {"--name", "NAME", "", option_keep_text, AT(broker.name)},
    {"--places", "N", "", option_keep_text, AT(places)},
    {"--nats-creds", "FILE", "", option_keep_text, AT(broker.credentials)},
    {"--nats-ca", "FILE", "", option_keep_text, AT(broker.authority)},
    {"--insecure", NULL, "", option_set_flag, AT(broker.may_be_insecure)},
    {0},
};

/* "python=python-slim": a language, and its image if that is here. */
static int add_environment(struct broker_options *broker, char *argument, struct fault *fault)
{
    char *image = strchr(argument, '=');
    if (image == NULL || broker->environment_count >= ENVIRONMENTS_MAX)
        return fault_set(fault, EINVAL, "LANGUAGE=IMAGE is expected, not %.40s", argument);
    *image++ = '\0';
    struct environment_name *environment = &broker->environments[broker->environment_count];
    *environment = (struct environment_name){.language = argument, .image = image};
    int r = environment_name_find(environment, fault);
    if (r == 0)
        broker->environment_count++;
    if (r != -ENOENT)
        return r;
    *fault = (struct fault){0};
    return 0;
}

static int read_arguments(struct fleet_options *fleet, int argc, char **argv, struct fault *fault)
{
    const struct option_table tables[] = {{options, fleet}, {0}};
    int operands = 0;
    int r = options_read(tables, argc, argv, &operands, fault);
    for (int i = 0; r == 0 && i < operands; i++)
        r = add_environment(&fleet->broker, argv[i], fault);
    return r;
}

/* For whoever sends calls or lists workers: why that cannot be done. */
static void tell_failure(const struct fault *fault)
{
    OWNED(buffer_release) struct buffer line = BUFFER(FAILURE_MAX);
    struct json_writer *writer = NULL;
    if (json_writer_open(&line, &writer) < 0)
        return;
    json_begin_object(writer);
    json_text_member(writer, "failed", fault->text);
    json_end_object(writer);
    if (json_writer_close(writer) == 0)
        lines_write(line.data, line.length);
}

enum mode { MODE_NONE, MODE_TAKE, MODE_SEND, MODE_LIST };

static enum mode mode_of(const char *name)
{
    static const char *const names[] = {
        [MODE_TAKE] = "take", [MODE_SEND] = "send", [MODE_LIST] = "list"};
    for (enum mode mode = MODE_TAKE; mode <= MODE_LIST; mode++)
        if (name != NULL && strcmp(name, names[mode]) == 0)
            return mode;
    return MODE_NONE;
}

static int run(enum mode mode, struct fleet_options *fleet, struct fault *fault)
{
    /* Threads of nats.c may use it until the process ends. */
    static struct nats_link broker;
    if (mode != MODE_LIST && fleet->broker.environment_count == 0)
        return fault_set(fault, ENOENT,
                         "there is no image here: fetch one with `code-sandbox-mcp fetch`");
    int r = broker_open(&broker, &fleet->broker, fault);
    if (r < 0)
        return r;
    return mode == MODE_TAKE ? taker_run(&broker, (unsigned)strtoul(fleet->places, NULL, 10), fault)
           : mode == MODE_SEND ? caller_run(&broker, fault)
                               : census_run(&broker, fault);
}

int main(int argc, char **argv)
{
    struct fault fault = {0};
    struct fleet_options fleet = {
        .broker = {.url = getenv("CODE_SANDBOX_BROKER"), .pool = "default", .name = "nameless"},
        .places = "1"};
    enum mode mode = mode_of(argc > 1 ? argv[1] : NULL);
    int r = 0;
    if (mode == MODE_NONE || fleet.broker.url == NULL)
        r = fault_set(&fault, EINVAL, "code-sandbox-mcp starts this program");
    if (r == 0)
        r = read_arguments(&fleet, argc - 2, argv + 2, &fault);
    if (r == 0)
        r = run(mode, &fleet, &fault);
    if (r > 0)
        r = fault_set(&fault, EINVAL, "code-sandbox-mcp starts this program");
    if (r < 0 && (mode == MODE_SEND || mode == MODE_LIST))
        tell_failure(&fault);
    else if (r < 0)
        log_note("%s", fault.text);
    /* Not by exit(3): threads of nats.c go on. */
    fflush(stderr);
    _exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}
