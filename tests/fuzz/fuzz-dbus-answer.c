/* Messages of D-Bus: any bytes; and calls with any texts, which are whole messages and no answers. */
#include "sandbox/base/owned.h"
#include "sandbox/scope/dbus_message.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_answer(const uint8_t *data, size_t size)
{
    struct dbus_answer answer;
    size_t length = 0;
    /* In a block of its own size, so that AddressSanitizer sees reading past it. */
    OWNED_MEMORY char *message = malloc(size + 1);
    FUZZ_CHECK(message != NULL);
    memcpy(message, data, size);
    if (dbus_answer_read(message, size, &answer) < 0)
        return;
    FUZZ_CHECK(dbus_message_length(message, &length) == 0 && length == size);
    FUZZ_CHECK(strnlen(answer.error_name, sizeof(answer.error_name)) <= DBUS_NAME_MAX);
    FUZZ_CHECK(strnlen(answer.error_text, sizeof(answer.error_text)) <= DBUS_NAME_MAX);
    FUZZ_CHECK(answer.type == DBUS_ERROR || answer.error_name[0] == '\0');
    FUZZ_CHECK(answer.type == DBUS_ERROR || answer.error_text[0] == '\0');
}

static void check_call(struct fuzz_input *input)
{
    OWNED_MEMORY char *member = fuzz_line(input);
    OWNED_MEMORY char *text = fuzz_rest(input);
    OWNED(dbus_writer_release) struct dbus_writer body = DBUS_WRITER;
    OWNED(dbus_writer_release) struct dbus_writer message = DBUS_WRITER;
    const struct dbus_call call = {1, "a.B", "/", "a.B", member != NULL ? member : "", "as"};
    size_t begin = dbus_begin_array(&body);
    dbus_put_string(&body, text);
    dbus_end_array(&body, begin);
    if (dbus_call_write(&call, &body, &message) < 0)
        return;
    struct dbus_answer answer;
    FUZZ_CHECK(dbus_answer_read(message.bytes.data, message.bytes.length, &answer) == 0);
    FUZZ_CHECK(answer.type == DBUS_OTHER && answer.reply_serial == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    check_answer(data, size);
    check_call(&input);
    return 0;
}
