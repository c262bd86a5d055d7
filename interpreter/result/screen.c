#include "interpreter/result/screen.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 64
#define COLUMNS 512
#define PARAMETER_MAX 9999

#define CANCEL '\x18'
#define SUBSTITUTE '\x1a'
#define ESCAPE '\x1b'

/* A character, or a byte that is none. */
struct screen_cell {
    char bytes[4];
    unsigned char length;
};

struct row {
    struct screen_cell cells[COLUMNS];
    size_t length;
    bool is_wrapped; /* it goes on with the row above */
    bool is_redrawn; /* so the spaces at its end are remains */
};

enum state {
    STATE_TEXT,
    STATE_ESCAPE,   /* after ESC */
    STATE_CHOICE,   /* after ESC and a byte such as '(' */
    STATE_SEQUENCE, /* after ESC [ */
    STATE_STRING,   /* after ESC ] and the like: titles, links */
};

struct screen {
    struct row rows[ROWS]; /* a ring */
    size_t first, count;   /* of the rows in use; at least one */
    size_t row, column;    /* of the cursor: the row from `first` on; at COLUMNS it wraps next */
    unsigned awaited;      /* bytes that the last character lacks */
    enum state state;
    unsigned parameter;   /* the first one of the sequence */
    bool has_more;        /* the others follow */
    bool is_ignored;      /* the sequence is private, or has an intermediate byte */
    bool has_sent;        /* a row has left the screen */
    struct capture *sink; /* borrowed: takes the rows that leave */
    int error;
};

static struct row *row_at(struct screen *screen, size_t number)
{
    return &screen->rows[(screen->first + number) % ROWS];
}

static bool is_space(const struct screen_cell *cell)
{
    return cell->length == 1 && cell->bytes[0] == ' ';
}

static void send_row(struct screen *screen, const struct row *row)
{
    char line[1 + sizeof(row->cells)];
    size_t length = 0;
    size_t cells = row->length;
    bool goes_on = cells == COLUMNS;
    while (row->is_redrawn && !goes_on && cells > 0 && is_space(&row->cells[cells - 1]))
        cells--;
    if (screen->has_sent && !row->is_wrapped)
        line[length++] = '\n';
    for (size_t i = 0; i < cells; i++) {
        memcpy(line + length, row->cells[i].bytes, row->cells[i].length);
        length += row->cells[i].length;
    }
    int r = capture_add(screen->sink, line, length);
    if (r < 0)
        screen->error = r;
    screen->has_sent = true;
}

/* To the row below. If there is none, it is made, and the first one may leave. */
static void go_down(struct screen *screen, bool wraps)
{
    screen->column = 0;
    if (++screen->row < screen->count)
        return;
    if (screen->count == ROWS) {
        send_row(screen, row_at(screen, 0));
        screen->first = (screen->first + 1) % ROWS;
        screen->row--;
    } else {
        screen->count++;
    }
    struct row *row = row_at(screen, screen->row);
    row->length = 0;
    row->is_wrapped = wraps;
    row->is_redrawn = false;
}

/* How many bytes follow this one in a character of UTF-8. */
static unsigned bytes_after(unsigned char byte)
{
    return byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
}

static void put(struct screen *screen, char byte)
{
    static const struct screen_cell space = {.bytes = {' '}, .length = 1};
    if (screen->column == COLUMNS)
        go_down(screen, true);
    struct row *row = row_at(screen, screen->row);
    while (row->length < screen->column)
        row->cells[row->length++] = space;
    if (screen->column < row->length)
        row->is_redrawn = true;
    else
        row->length++;
    row->cells[screen->column++] = (struct screen_cell){.bytes = {byte}, .length = 1};
    screen->awaited = bytes_after((unsigned char)byte);
}

/* The next byte of the character before the cursor. */
static void put_rest(struct screen *screen, char byte)
{
    struct screen_cell *cell = &row_at(screen, screen->row)->cells[screen->column - 1];
    cell->bytes[cell->length++] = byte;
    screen->awaited--;
}

static size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* 0: from the cursor on; 1: up to the cursor; 2: all. */
static void erase_in_line(struct screen *screen, unsigned what)
{
    struct row *row = row_at(screen, screen->row);
    size_t begin = what == 0 ? screen->column : 0;
    if (what > 2 || begin >= row->length)
        return;
    row->is_redrawn = true;
    if (what != 1) {
        row->length = begin;
        return;
    }
    for (size_t i = 0; i < smaller(screen->column + 1, row->length); i++)
        row->cells[i] = (struct screen_cell){.bytes = {' '}, .length = 1};
}

/* Only what is below the cursor: that is how programs redraw some rows. */
static void erase_in_screen(struct screen *screen, unsigned what)
{
    if (what != 0)
        return;
    erase_in_line(screen, 0);
    screen->count = screen->row + 1;
}

/* What follows belongs to another place of the screen, and not to this line. */
static void begin_below(struct screen *screen)
{
    screen->row = screen->count - 1;
    screen->column = 0;
    if (row_at(screen, screen->row)->length > 0)
        go_down(screen, false);
}

static void perform(struct screen *screen, char command)
{
    size_t times = screen->parameter > 0 ? screen->parameter : 1;
    size_t below = screen->count - 1 - screen->row;
    if (command == 'E' || command == 'F')
        screen->column = 0;
    switch (command) {
    case 'A':
    case 'F':
        screen->row -= smaller(times, screen->row);
        break;
    case 'B':
    case 'E':
        screen->row += smaller(times, below);
        break;
    case 'C':
        screen->column = smaller(screen->column + times, COLUMNS - 1);
        break;
    case 'D':
        screen->column -= smaller(times, screen->column);
        break;
    case 'G':
        screen->column = smaller(times - 1, COLUMNS - 1);
        break;
    case 'H':
    case 'd':
    case 'f':
        begin_below(screen);
        break;
    case 'J':
        erase_in_screen(screen, screen->parameter);
        break;
    case 'K':
        erase_in_line(screen, screen->parameter);
        break;
    default:
        break; /* colours and all the rest */
    }
}

static void read_text(struct screen *screen, char byte)
{
    switch (byte) {
    case ESCAPE:
        screen->state = STATE_ESCAPE;
        break;
    case '\n':
        go_down(screen, false);
        break;
    case '\r':
        screen->column = 0;
        break;
    case '\b':
        screen->column -= smaller(1, screen->column);
        break;
    default:
        put(screen, byte);
        break;
    }
}

/* A byte that no sequence has is text again. */
static void end_sequence(struct screen *screen, char byte)
{
    screen->state = STATE_TEXT;
    read_text(screen, byte);
}

static void read_escape(struct screen *screen, char byte)
{
    if (byte == '[') {
        screen->state = STATE_SEQUENCE;
        screen->parameter = 0;
        screen->has_more = screen->is_ignored = false;
    } else if (byte != '\0' && strchr("]PX^_", byte) != NULL) {
        screen->state = STATE_STRING;
    } else if (byte >= ' ' && byte <= '/') {
        screen->state = STATE_CHOICE;
    } else if (byte >= '0' && byte <= '~') {
        screen->state = STATE_TEXT;
    } else {
        end_sequence(screen, byte);
    }
}

static void read_choice(struct screen *screen, char byte)
{
    if (byte >= '0' && byte <= '~')
        screen->state = STATE_TEXT;
    else if (byte < ' ' || byte > '/')
        end_sequence(screen, byte);
}

static void read_sequence(struct screen *screen, char byte)
{
    if (byte >= '0' && byte <= '9') {
        unsigned parameter = 10 * screen->parameter + (unsigned)(byte - '0');
        if (!screen->has_more)
            screen->parameter = parameter < PARAMETER_MAX ? parameter : PARAMETER_MAX;
    } else if (byte == ':' || byte == ';') {
        screen->has_more = true;
    } else if (byte >= ' ' && byte <= '?') {
        screen->is_ignored = true;
    } else if (byte >= '@' && byte <= '~') {
        screen->state = STATE_TEXT;
        if (!screen->is_ignored)
            perform(screen, byte);
    } else {
        end_sequence(screen, byte);
    }
}

/* A newline ends it as well: the end may be missing. */
static void read_string(struct screen *screen, char byte)
{
    if (byte == '\a' || byte == CANCEL || byte == SUBSTITUTE)
        screen->state = STATE_TEXT;
    else if (byte == ESCAPE || byte == '\n')
        end_sequence(screen, byte);
}

static void read_byte(struct screen *screen, char byte)
{
    if (screen->awaited > 0 && ((unsigned char)byte & 0xc0) == 0x80) {
        put_rest(screen, byte);
        return;
    }
    screen->awaited = 0;
    switch (screen->state) {
    case STATE_TEXT:
        read_text(screen, byte);
        break;
    case STATE_ESCAPE:
        read_escape(screen, byte);
        break;
    case STATE_CHOICE:
        read_choice(screen, byte);
        break;
    case STATE_SEQUENCE:
        read_sequence(screen, byte);
        break;
    case STATE_STRING:
        read_string(screen, byte);
        break;
    }
}

/* Bytes of a stream; `data` may be NULL if there are none. */
struct piece {
    const char *data;
    size_t length;
};

static void read_piece(struct screen *screen, struct piece piece)
{
    for (size_t i = 0; i < piece.length; i++)
        read_byte(screen, piece.data[i]);
}

/* Draws the two as one stream. */
static int draw(const struct piece pieces[2], struct capture *sink)
{
    OWNED_MEMORY struct screen *screen = malloc(sizeof(*screen));
    if (screen == NULL)
        return -ENOMEM;
    memset(screen, 0, sizeof(*screen));
    screen->count = 1;
    screen->sink = sink;
    read_piece(screen, pieces[0]);
    read_piece(screen, pieces[1]);
    for (size_t i = 0; i < screen->count; i++)
        send_row(screen, row_at(screen, i));
    capture_end(sink);
    return screen->error;
}

bool screen_is_needed(const struct capture *written)
{
    const struct buffer *const parts[] = {&written->head, &written->tail};
    bool is_back = false; /* after '\r': "\r\n" ends a line and draws over none */
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        for (size_t k = 0; k < parts[i]->length; k++) {
            char byte = parts[i]->data[k];
            if (byte == ESCAPE || byte == '\b' || (is_back && byte != '\n' && byte != '\r'))
                return true;
            is_back = byte == '\r';
        }
    }
    return false;
}

/* What is drawn of a stream, as one part or as two. */
struct parts {
    struct piece first[2], last[2];
    bool is_divided;
    uint64_t missing; /* bytes between the two */
};

static struct parts divide(const struct capture *written)
{
    const struct buffer *head = &written->head;
    const struct piece tail = {written->tail.data, written->tail.length};
    struct parts parts = {.first = {{head->data, head->length}, tail}, .missing = written->cut};
    if (written->cut == 0 && head->length + tail.length <= DRAWN_MAX)
        return parts;
    size_t begin = smaller(head->length, DRAWN_MAX / 2);
    size_t rest = head->length - begin;
    size_t room = DRAWN_MAX / 2 - smaller(tail.length, DRAWN_MAX / 2);
    size_t joined = written->cut == 0 ? smaller(rest, room) : 0;
    parts.is_divided = true;
    parts.first[0].length = begin;
    parts.first[1] = (struct piece){0};
    if (joined > 0)
        parts.last[0] = (struct piece){head->data + head->length - joined, joined};
    parts.last[1] = tail;
    parts.missing += rest - joined;
    return parts;
}

static void take(struct buffer *buffer, struct buffer *ret_buffer)
{
    *ret_buffer = *buffer;
    *buffer = (struct buffer){0};
}

int screen_draw(const struct capture *written, uint64_t kept, struct capture *ret_drawn)
{
    const struct parts parts = divide(written);
    OWNED(capture_release) struct capture first = {0};
    OWNED(capture_release) struct capture last = {0};
    capture_open(&first, kept);
    capture_open(&last, kept);
    int r = draw(parts.first, &first);
    if (r == 0 && parts.is_divided)
        r = draw(parts.last, &last);
    if (r < 0)
        return r;
    struct capture drawn = {.total = first.total + parts.missing + last.total};
    struct buffer *end = last.tail.length > 0 ? &last.tail : &last.head;
    take(&first.head, &drawn.head);
    take(parts.is_divided ? end : &first.tail, &drawn.tail);
    drawn.cut = drawn.total - drawn.head.length - drawn.tail.length;
    *ret_drawn = drawn;
    return 0;
}
