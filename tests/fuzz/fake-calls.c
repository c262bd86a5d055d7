/*
 * In the place of sandbox/session_calls.c: each cell of a session that has functions calls one, of the name and with the
 * arguments that its code has, divided by a space.
 */
#include "tests/fuzz/fake-launcher.h"
#include "tests/fuzz/fuzz.h"

#include "sandbox/base/list.h"

#include <stdlib.h>
#include <string.h>

/* The list of a session's calls is found by their data of the observer. */
struct fake_call {
    struct session_call call;
    struct session *session;
    const struct call_functions *functions; /* borrowed: while it is called */
};

static void call_free(struct session_call *call)
{
    struct fake_call *fake = (struct fake_call *)call;
    LIST_REMOVE(fake->session->calls, call);
    buffer_release(&call->arguments);
    free(fake);
}

void fake_calls_begin(struct session *session, const struct snippet *snippet)
{
    const char *code = snippet->code;
    size_t length = snippet->length;
    const char *space = memchr(code, ' ', length);
    size_t name_length = space != NULL ? (size_t)(space - code) : length;
    if (session->calls_observer.called == NULL || name_length == 0 || name_length > CALL_NAME_MAX)
        return;
    struct fake_call *fake = calloc(1, sizeof(*fake));
    FUZZ_CHECK(fake != NULL);
    *fake = (struct fake_call){
        .session = session,
        .functions = snippet->functions != NULL ? snippet->functions : session->functions,
        .call = {.number = 1, .name_length = name_length, .arguments = BUFFER(CALL_BYTES_MAX)}};
    memcpy(fake->call.name, code, name_length);
    LIST_PREPEND(session->calls, &fake->call);
    size_t rest = space != NULL ? length - name_length - 1 : 0;
    if (rest > CALL_BYTES_MAX || buffer_append(&fake->call.arguments, space + 1, rest) < 0)
        call_free(&fake->call);
    else
        session->calls_observer.called(session->calls_observer.data, &fake->call);
}

void fake_calls_end(struct session *session, bool tells)
{
    while (session->calls != NULL) {
        if (tells)
            session->calls_observer.cancelled(session->calls_observer.data, session->calls);
        call_free(session->calls);
    }
}

const struct call_functions *session_call_functions(const struct session_call *call)
{
    return ((const struct fake_call *)call)->functions;
}

void session_call_answer(struct session_call *call, const char *json, size_t length)
{
    struct buffer text = {.data = (char *)json, .length = length};
    json_free(fuzz_parse(&text));
    call_free(call);
}

void session_call_refuse(struct session_call *call, enum call_error error, const char *type,
                         const char *text)
{
    FUZZ_CHECK(error <= CALL_LIMIT && type != NULL && text != NULL);
    call_free(call);
}
