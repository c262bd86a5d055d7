/*
 * `tools`: functions of the program that has opened a session, for its Bash; docs/programs.md.
 *
 * It runs as often as a script says, and any number of times at once. All of them share the two descriptors that calls.bash leaves
 * to the script: sandbox/call_frame.h has what they write to the pipe, each frame at once, and read from the socket. Nobody
 * takes a packet of another one: it is looked at first. Who is there is said by record locks on the pipe
 * (tools_script.h).
 *
 * When an answer takes its time, and all processes of the script wait, for answers or for each other, that is said to the
 * server, and the clock stands still (CALL_WAIT). What cannot be seen is taken for work.
 *
 * No C library.  Side: child.  Source: fcntl(2), unix(7), proc(5).
 */
#include "images/runners/bash/tools_json.h"
#include "images/runners/bash/tools_script.h"
#include "images/runners/bash/tools_system.h"
#include "sandbox/call_frame.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdbool.h>

#define PATIENCE_MS 20 /* an answer that comes sooner is not worth stopping the clock */
#define LATER_MS 100 /* and if something works meanwhile, this is looked at again */
#define AGAIN_MS 1000 /* and it is said again, should the server not have listened */
#define PLACE_US 5000 /* between two looks for a place */
#define OTHERS_US 1000 /* until another process has taken what it was sent */

#define ERROR_TEXT_MAX 8192

enum tools_status {
    EXIT_DONE,
    EXIT_RAISED, /* by the function */
    EXIT_USAGE,
    EXIT_REFUSED,
    EXIT_TIMEOUT,
    EXIT_LIMIT,
};

static const char usage[] =
    "tools: functions of the program that opened this session\n"
    "\n"
    "  tools NAME [JSON]       calls a function and prints its value as JSON. JSON is an object with\n"
    "                          its arguments ({} if it is left out); - reads it from stdin\n"
    "  tools call NAME [JSON]  the same, for a function with the name of one of these commands\n"
    "  tools list              prints each function: its name, a tab, the first line of its description\n"
    "  tools search WORD...    prints those whose name or description has all words\n"
    "\n"
    "exit status: 0 done, 1 the function failed, 2 wrong use, 3 refused, 4 no answer in time,\n"
    "5 a limit; stderr says more\n";

struct tools_call {
    uint32_t kind; /* CALL_BEGIN, CALL_LIST */
    uint32_t number;
    const char *name;
    size_t name_length;
    struct json_span arguments; /* what is still to be sent */
    bool has_begun, is_sent;
};

struct tools_answer {
    size_t length;
    uint32_t kind, error;
    bool is_complete;
};

static char arguments[CALL_BYTES_MAX + 1];
static char value[CALL_BYTES_MAX + 1]; /* of the answer, and a newline */
static char packet[CALL_PACKET_MAX];
static struct tools_call call;

/* The compiler calls these. */
void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memset(void *bytes, int value, size_t length);

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    for (size_t i = 0; i < length; i++)
        ((volatile char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *bytes, int byte, size_t length)
{
    for (size_t i = 0; i < length; i++)
        ((volatile char *)bytes)[i] = (char)byte;
    return bytes;
}

/* Output. */

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        long written = system_write(fd, bytes, length);
        if (written == -EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

/* What stderr gets, as one piece. */
static struct {
    char bytes[CALL_NAME_MAX + ERROR_TEXT_MAX + 64];
    size_t length;
} told;

static void tell_bytes(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length && told.length < sizeof(told.bytes); i++)
        told.bytes[told.length++] = bytes[i];
}

static void tell(const char *text)
{
    tell_bytes(text, length_of(text));
}

static _Noreturn void give_up(enum tools_status status)
{
    told.length -= told.length == sizeof(told.bytes);
    tell_bytes("\n", 1);
    write_all(2, told.bytes, told.length);
    system_exit(status);
}

/* `name`: of the function; or NULL. */
static _Noreturn void fail(enum tools_status status, const char *name, const char *text)
{
    tell("tools: ");
    if (name != NULL) {
        tell_bytes(name, length_of(name) < CALL_NAME_MAX ? length_of(name) : CALL_NAME_MAX);
        tell(": ");
    }
    tell(text);
    give_up(status);
}

static _Noreturn void fail_use(const char *text)
{
    tell("tools: ");
    tell(text);
    tell("; see tools --help");
    give_up(EXIT_USAGE);
}

static void print(const char *bytes, size_t length)
{
    if (!write_all(1, bytes, length))
        fail(EXIT_RAISED, call.name, "its value came, but could not be written to stdout");
}

/* Frames. */

static const char no_session[] =
    "functions can be called only by a script of a session that has some, and what it starts: "
    "descriptors 198 and 199 must be left open";

/* One write: others write, too, and this process may be killed. */
static void write_frame(uint32_t kind, uint32_t flags, struct json_span name,
                        struct json_span bytes)
{
    char frame[CALL_FRAME_MAX];
    size_t name_length = (size_t)(name.end - name.at), length = (size_t)(bytes.end - bytes.at);
    const struct call_header header = {kind, call.number, (uint32_t)(name_length + length), flags};
    memcpy(frame, &header, sizeof(header));
    memcpy(frame + sizeof(header), name.at, name_length);
    memcpy(frame + sizeof(header) + name_length, bytes.at, length);
    long r;
    do
        r = system_write(CALLS_FD, frame, sizeof(header) + name_length + length);
    while (r == -EINTR);
    if (r < 0)
        fail(EXIT_REFUSED, call.name, no_session);
}

static void write_word(uint32_t kind)
{
    write_frame(kind, 0, (struct json_span){0}, (struct json_span){0});
}

static void write_wait(uint32_t count)
{
    const struct call_header header = {CALL_WAIT, count, 0, 0};
    system_write(CALLS_FD, &header, sizeof(header));
}

/* The next frame of the call, and whether it is the last. */
static void send_more(void)
{
    call.has_begun = true;
    if (call.kind != CALL_BEGIN) {
        write_word(call.kind);
        call.is_sent = true;
        return;
    }
    uint32_t flags = 0;
    struct json_span name = {call.name, call.name};
    if (call.name_length > 0) {
        name.end = call.name + call.name_length;
        flags = CALL_FIRST | (uint32_t)call.name_length << CALL_NAME_SHIFT;
    }
    struct json_span piece = call.arguments;
    size_t room = CALL_FRAME_MAX - sizeof(struct call_header) - call.name_length;
    if ((size_t)(piece.end - piece.at) > room)
        piece.end = piece.at + room;
    call.is_sent = piece.end == call.arguments.end;
    write_frame(CALL_BEGIN, flags | (call.is_sent ? CALL_LAST : 0), name, piece);
    call.name_length = 0;
    call.arguments.at = piece.end;
}

/* Answers. */

static bool is_ours(const struct call_header *header)
{
    return header->call == call.number &&
           (header->kind == CALL_RESULT || header->kind == CALL_ERROR);
}

static bool is_anybodys(const struct call_header *header)
{
    return (header->kind == CALL_RESULT || header->kind == CALL_ERROR) &&
           (header->call == call.number || is_locked(NUMBERS + header->call));
}

/* False: there is none. */
static bool look_at_packet(struct call_header *ret_header)
{
    long length = system_receive(RESULTS_FD, ret_header, sizeof(*ret_header), MSG_PEEK);
    if (length == -EAGAIN || length == -EINTR)
        return false;
    if (length != (long)sizeof(*ret_header))
        fail(EXIT_REFUSED, call.name, length == 0 ? "the session has ended" : no_session);
    return true;
}

/*
 * Under the lock nobody else takes a packet that is nobody's. Whose packet was looked at first may have taken it and ended
 * meanwhile: so it is looked at once more.
 */
static void drop_packets(void)
{
    struct call_header header = {0}, again = {0};
    if (!take_lock(DROPS))
        return;
    while (look_at_packet(&header) && !is_anybodys(&header) && look_at_packet(&again))
        if (again.call == header.call && again.kind == header.kind)
            system_receive(RESULTS_FD, packet, sizeof(packet), 0);
    leave_lock(DROPS);
}

static void take_piece(struct tools_answer *answer)
{
    struct call_header header = {0};
    long length = system_receive(RESULTS_FD, packet, sizeof(packet), 0);
    if (length < (long)sizeof(header))
        return;
    memcpy(&header, packet, sizeof(header));
    size_t more = (size_t)length - sizeof(header);
    if (more > CALL_BYTES_MAX - answer->length)
        more = CALL_BYTES_MAX - answer->length;
    memcpy(value + answer->length, packet + sizeof(header), more);
    answer->length += more;
    answer->kind = header.kind;
    answer->error = header.flags >> CALL_ERROR_SHIFT & 0xff;
    answer->is_complete = (header.flags & CALL_LAST) != 0;
}

static void take_packets(struct tools_answer *answer)
{
    struct call_header header = {0};
    while (!answer->is_complete && look_at_packet(&header)) {
        if (is_ours(&header)) {
            take_piece(answer);
        } else if (is_anybodys(&header)) {
            system_sleep(OTHERS_US);
            return;
        } else {
            drop_packets();
        }
    }
}

/* Until the answer is complete. */
static void converse(struct tools_answer *answer)
{
    int64_t waiter = WAITERS + system_pid();
    int patience = PATIENCE_MS;
    while (!answer->is_complete) {
        struct pollfd events[] = {
            {.fd = RESULTS_FD, .events = POLLIN},
            {.fd = call.is_sent ? -1 : CALLS_FD, .events = POLLOUT},
        };
        long ready = system_poll(events, 2, call.is_sent ? patience : -1);
        if (ready == 0) {
            uint32_t waiting = call.kind == CALL_BEGIN ? count_waiting() : 0;
            if (waiting > 0)
                write_wait(waiting);
            patience = waiting > 0 ? AGAIN_MS : LATER_MS;
            continue;
        }
        patience = PATIENCE_MS;
        if (events[0].revents != 0)
            take_packets(answer);
        if (events[1].revents != 0 && !answer->is_complete)
            send_more();
        if (call.is_sent && !answer->is_complete)
            take_lock(waiter);
    }
    leave_lock(waiter);
}

/* Its signal is the end of the process all the same: with ACTION_ONCE. */
static void on_signal(int signal)
{
    const struct call_header header = {CALL_CANCEL, call.number, 0, 0};
    if (call.has_begun)
        system_write(CALLS_FD, &header, sizeof(header));
    system_kill(system_pid(), signal);
}

void tools_return_from_signal(void);
__asm__(".globl tools_return_from_signal\ntools_return_from_signal:\n\t" RETURN_FROM_SIGNAL "\n");

/* Not those that the script ignores. */
static void watch_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        const struct signal_action action = {.handler = on_signal,
                                             .flags = ACTION_HAS_RESTORER | ACTION_ONCE,
                                             .restorer = tools_return_from_signal};
        struct signal_action old = {.handler = SIG_DFL};
        system_action(signals[i], NULL, &old);
        if (old.handler != SIG_IGN)
            system_action(signals[i], &action, NULL);
    }
}

static void take_place(void)
{
    int64_t comer = COMERS + system_pid();
    for (;;) {
        for (int place = 0; place < CALLS_AT_ONCE; place++)
            if (take_lock(PLACES + place)) {
                leave_lock(comer);
                return;
            }
        take_lock(comer);
        system_sleep(PLACE_US);
    }
}

/* Not that of an earlier cell, whose answer may still come. */
static void take_number(void)
{
    do
        call.number = (uint32_t)(system_clock() >> 10);
    while (!take_lock(NUMBERS + call.number));
}

/* Asks, and leaves the answer in `value`. */
static struct tools_answer ask(void)
{
    struct tools_answer answer = {0};
    if (!system_is_pipe(CALLS_FD)) /* and of the socket, reading tells */
        fail(EXIT_REFUSED, call.name, no_session);
    if (call.kind == CALL_BEGIN)
        take_place();
    take_number();
    watch_signals();
    drop_packets();
    converse(&answer);
    call.has_begun = false; /* nothing is to be cancelled any more */
    return answer;
}

/* As the other languages tell it: with the class of the error in its program, if that says more. */
static _Noreturn void fail_answer(const struct tools_answer *answer)
{
    static const enum tools_status statuses[] = {
        [CALL_RAISED] = EXIT_RAISED,
        [CALL_REFUSED] = EXIT_REFUSED,
        [CALL_TIMEOUT] = EXIT_TIMEOUT,
        [CALL_LIMIT] = EXIT_LIMIT,
    };
    static char text[ERROR_TEXT_MAX];
    const struct json_span object = {value, value + answer->length};
    uint32_t error = answer->error <= CALL_LIMIT ? answer->error : CALL_RAISED;
    tell("tools: ");
    if (call.name != NULL) {
        tell(call.name);
        tell(": ");
    }
    size_t length = json_string_of(object, "type", text, sizeof(text) - 1);
    text[length] = '\0';
    if (error == CALL_RAISED && length > 0 && !is_same(text, "ToolError")) {
        tell(text);
        tell(": ");
    }
    length = json_string_of(object, "text", text, sizeof(text));
    tell_bytes(text, length);
    give_up(statuses[error]);
}

/* Commands. */

static void read_arguments(const char *text)
{
    size_t length = 0;
    call.arguments = (struct json_span){text, text + length_of(text)};
    if (!is_same(text, "-"))
        return;
    long more = 1;
    while (more > 0 && length < sizeof(arguments)) {
        more = system_read(0, arguments + length, sizeof(arguments) - length);
        length += more > 0 ? (size_t)more : 0;
        more = more == -EINTR ? 1 : more;
    }
    if (more < 0)
        fail_use("stdin cannot be read");
    call.arguments = (struct json_span){arguments, arguments + length};
}

static void call_function(const char *name, const char *text)
{
    call = (struct tools_call){.kind = CALL_BEGIN, .name = name, .name_length = length_of(name)};
    if (call.name_length == 0 || call.name_length > CALL_NAME_MAX)
        fail(EXIT_REFUSED, name, "a name has 1 to 128 bytes");
    read_arguments(text);
    if ((size_t)(call.arguments.end - call.arguments.at) > CALL_BYTES_MAX)
        fail(EXIT_LIMIT, name,
             "its arguments have more than 1 MiB as JSON, the most that there may be");
    struct tools_answer answer = ask();
    if (answer.kind != CALL_RESULT)
        fail_answer(&answer);
    value[answer.length] = '\n';
    print(value, answer.length + 1);
}

/* A function, if it has all words. */
static void list_function(struct json_span function, char *const *words)
{
    static char line[CALL_FUNCTIONS_BYTES_MAX + CALL_NAME_MAX];
    size_t name = json_string_of(function, "name", line, CALL_NAME_MAX);
    line[name] = ' ';
    size_t length =
        name + 1 +
        json_string_of(function, "description", line + name + 1, CALL_FUNCTIONS_BYTES_MAX - 2);
    for (; *words != NULL; words++)
        if (!text_has_words((struct json_span){line, line + length}, *words))
            return;
    size_t end = name + 1;
    while (end < length && line[end] != '\n')
        end++;
    line[name] = '\t';
    end -= end == name + 1; /* it has no description */
    line[end] = '\n';
    print(line, end + 1);
}

static void list_functions(char *const *words)
{
    call = (struct tools_call){.kind = CALL_LIST};
    struct tools_answer answer = ask();
    if (answer.kind != CALL_RESULT)
        fail_answer(&answer);
    struct json_span function, list = json_inside((struct json_span){value, value + answer.length});
    while (json_next(&list, &function))
        list_function(function, words);
}

/* `argv` is what follows the name of the program; NULL-terminated. */
static void obey(int count, char *const *argv)
{
    if (count == 0 || is_same(argv[0], "--help") || is_same(argv[0], "-h")) {
        print(usage, sizeof(usage) - 1);
        return;
    }
    bool is_call = is_same(argv[0], "call");
    if (is_same(argv[0], "search")) {
        list_functions(argv + 1);
    } else if (is_same(argv[0], "list")) {
        if (count > 1)
            fail_use("list takes no arguments");
        list_functions(argv + 1);
    } else if (argv[0][0] == '-') {
        fail_use("there is no such option");
    } else if (is_call && count == 1) {
        fail_use("call needs the name of a function");
    } else if (count - is_call > 2) {
        fail_use("arguments are one JSON object, in quotation marks");
    } else {
        call_function(argv[is_call], count - is_call == 2 ? argv[is_call + 1] : "{}");
    }
}

/* The stack at the start: argc, argv. */
_Noreturn void tools_main(long *stack);
_Noreturn void tools_main(long *stack)
{
    char *const *argv = (char *const *)(void *)(stack + 1);
    int count = (int)stack[0];
    obey(count > 0 ? count - 1 : 0, count > 0 ? argv + 1 : argv);
    system_exit(EXIT_DONE);
}

__asm__(".globl _start\n_start:\n\t" PROGRAM_START "\n");
