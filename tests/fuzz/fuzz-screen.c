/*
 * Any bytes as a stream with redraws. The drawing has a bounded length and nothing that moves a cursor, does not depend
 * on the pieces in which the stream was kept, and keeps all text without redraws. What a few sequences draw is compared
 * with a plain drawing on a large sheet. The bytes: a choice, where the pieces meet, then the stream.
 */
#include "interpreter/result/screen.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define KEPT (1 << 20)
#define SHEET_ROWS 60
#define SHEET_COLUMNS 400

static struct capture draw(const void *bytes, size_t size, size_t meet, uint64_t cut)
{
    OWNED(capture_release)
    struct capture written = {
        .head = BUFFER(size + 1), .tail = BUFFER(size + 1), .total = size + cut, .cut = cut};
    struct capture drawn = {0};
    FUZZ_CHECK(buffer_append(&written.head, bytes, meet) == 0);
    FUZZ_CHECK(buffer_append(&written.tail, (const char *)bytes + meet, size - meet) == 0);
    FUZZ_CHECK(screen_draw(&written, KEPT, &drawn) == 0);
    FUZZ_CHECK(drawn.head.length + drawn.cut + drawn.tail.length == drawn.total);
    FUZZ_CHECK(drawn.head.length + drawn.tail.length <= KEPT);
    FUZZ_CHECK(!screen_is_needed(&drawn));
    return drawn;
}

static bool are_same(const struct buffer *one, const struct buffer *other)
{
    return one->length == other->length &&
           (one->length == 0 || memcmp(one->data, other->data, one->length) == 0);
}

/* The same in one piece, and as two streams with a gap between them. */
static void check_pieces(const uint8_t *data, size_t size, size_t meet)
{
    OWNED(capture_release) struct capture whole = draw(data, size, size, 0);
    OWNED(capture_release) struct capture parts = draw(data, size, meet, 0);
    FUZZ_CHECK(are_same(&whole.head, &parts.head) && are_same(&whole.tail, &parts.tail));
    OWNED(capture_release) struct capture above = draw(data, meet, meet, 0);
    OWNED(capture_release) struct capture gap = draw(data, size, meet, 9);
    FUZZ_CHECK(are_same(&above.head, &gap.head) && gap.cut >= 9);
}

/* Without what moves the cursor, every byte stays. */
static void check_text(const uint8_t *data, size_t size)
{
    OWNED(buffer_release) struct buffer text = BUFFER(size + 1);
    for (size_t i = 0; i < size; i++) {
        if (data[i] != 0x1b && data[i] != '\b' && data[i] != '\r')
            FUZZ_CHECK(buffer_append(&text, data + i, 1) == 0);
    }
    if (text.length == 0 || text.length > KEPT / 2)
        return;
    OWNED(capture_release) struct capture drawn = draw(text.data, text.length, text.length, 0);
    FUZZ_CHECK(are_same(&drawn.head, &text));
}

/* A sheet that is large enough for all of it: rows of bytes, 0 where there is none. */
struct sheet {
    char rows[SHEET_ROWS][SHEET_COLUMNS];
    size_t row, column, last;
};

static const char *const tokens[] = {"a",  "b",      "c",      "d",      " ",      "\n",     "\r",
                                     "\b", "\x1b[A", "\x1b[K", "\x1b[m", "\x1b[B", "\x1b[2K"};

static void play(struct sheet *sheet, const char *token)
{
    char *row = sheet->rows[sheet->row];
    if (strcmp(token, "\n") == 0) {
        sheet->row++;
        sheet->last = sheet->row > sheet->last ? sheet->row : sheet->last;
        sheet->column = 0;
    } else if (strcmp(token, "\r") == 0) {
        sheet->column = 0;
    } else if (strcmp(token, "\b") == 0) {
        sheet->column -= sheet->column > 0;
    } else if (strcmp(token, "\x1b[A") == 0) {
        sheet->row -= sheet->row > 0;
    } else if (strcmp(token, "\x1b[B") == 0) {
        sheet->row += sheet->row < sheet->last;
    } else if (strcmp(token, "\x1b[K") == 0) {
        memset(row + sheet->column, 0, SHEET_COLUMNS - sheet->column);
    } else if (strcmp(token, "\x1b[2K") == 0) {
        memset(row, 0, SHEET_COLUMNS);
    } else if (token[0] != '\x1b') {
        for (size_t i = 0; i < sheet->column; i++)
            row[i] = row[i] != '\0' ? row[i] : ' ';
        row[sheet->column++] = token[0];
    }
}

/* Without the spaces at the ends of rows: of some they are remains. */
static void drop_spaces(struct buffer *text)
{
    size_t length = 0;
    for (size_t i = 0; i < text->length; i++) {
        while (text->data[i] == '\n' && length > 0 && text->data[length - 1] == ' ')
            length--;
        text->data[length++] = text->data[i];
    }
    while (length > 0 && text->data[length - 1] == ' ')
        length--;
    text->length = length;
}

static void check_drawing(const uint8_t *data, size_t size)
{
    struct sheet sheet = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(8 * (SHEET_ROWS + SHEET_COLUMNS));
    OWNED(buffer_release) struct buffer expected = BUFFER(SHEET_ROWS * (SHEET_COLUMNS + 1));
    for (size_t i = 0; i < size && i + 1 < SHEET_COLUMNS && sheet.last + 1 < SHEET_ROWS; i++) {
        const char *token = tokens[data[i] % (sizeof(tokens) / sizeof(tokens[0]))];
        play(&sheet, token);
        FUZZ_CHECK(buffer_append_text(&text, token) == 0);
    }
    for (size_t i = 0; i <= sheet.last; i++)
        FUZZ_CHECK(buffer_format(&expected, "%s%.*s", i > 0 ? "\n" : "", SHEET_COLUMNS,
                                 sheet.rows[i]) == 0);
    if (text.length == 0)
        return;
    OWNED(capture_release) struct capture drawn = draw(text.data, text.length, text.length, 0);
    drop_spaces(&drawn.head);
    drop_spaces(&expected);
    FUZZ_CHECK(are_same(&drawn.head, &expected));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    bool is_drawing = fuzz_byte(&input) % 2 == 1;
    size_t meet = fuzz_byte(&input) * input.size / 255;
    if (input.size == 0)
        return 0;
    if (is_drawing)
        check_drawing(input.data, input.size);
    else
        check_text(input.data, input.size);
    check_pieces(input.data, input.size, meet);
    return 0;
}
