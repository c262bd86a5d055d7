#include "images/runners/bash/tools_json.h"

#include <stdint.h>

#define REPLACEMENT 0xfffdU /* of half a surrogate pair */

static bool is_between(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r' || letter == ',' ||
           letter == ':';
}

static const char *skip_between(struct json_span text)
{
    while (text.at < text.end && is_between(*text.at))
        text.at++;
    return text.at;
}

/* From its first quotation mark to behind its last. */
static const char *skip_string(struct json_span text)
{
    const char *at = text.at + 1;
    while (at < text.end && *at != '"')
        at += *at == '\\' && at + 1 < text.end ? 2 : 1;
    return at < text.end ? at + 1 : text.end;
}

static const char *skip_value(struct json_span text)
{
    const char *begin = text.at;
    size_t depth = 0;
    while (text.at < text.end) {
        char letter = *text.at;
        bool is_end = letter == '}' || letter == ']';
        if (depth == 0 && text.at > begin && (is_end || is_between(letter)))
            break;
        depth += letter == '{' || letter == '[';
        depth -= is_end && depth > 0;
        text.at = letter == '"' ? skip_string(text) : text.at + 1;
        if (depth == 0 && (is_end || letter == '"'))
            break;
    }
    return text.at;
}

/* Of an object, too: names and values in turn. */
bool json_next(struct json_span *list, struct json_span *ret_value)
{
    list->at = skip_between(*list);
    if (list->at < list->end && (*list->at == ']' || *list->at == '}'))
        return false;
    if (list->at == list->end)
        return false;
    ret_value->at = list->at;
    ret_value->end = list->at = skip_value(*list);
    return true;
}

struct json_span json_inside(struct json_span container)
{
    container.at = skip_between(container);
    if (container.at < container.end)
        container.at++;
    return container;
}

struct text {
    char *bytes;
    size_t length, room;
};

static void put(struct text *text, unsigned byte)
{
    if (text->length < text->room)
        text->bytes[text->length++] = (char)byte;
}

static void put_point(struct text *text, uint32_t point)
{
    if (point < 0x80) {
        put(text, point);
        return;
    }
    if (point < 0x800) {
        put(text, 0xc0 | point >> 6);
    } else {
        if (point < 0x10000) {
            put(text, 0xe0 | point >> 12);
        } else {
            put(text, 0xf0 | point >> 18);
            put(text, 0x80 | (point >> 12 & 0x3f));
        }
        put(text, 0x80 | (point >> 6 & 0x3f));
    }
    put(text, 0x80 | (point & 0x3f));
}

/* Four digits. */
static uint32_t read_unit(struct json_span *text)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4 && text->at < text->end; i++, text->at++) {
        char letter = *text->at;
        unsigned digit = letter >= 'a'   ? letter - 'a' + 10U
                         : letter >= 'A' ? letter - 'A' + 10U
                                         : letter - (unsigned)'0';
        unit = unit << 4 | (digit & 0xf);
    }
    return unit;
}

static uint32_t read_point(struct json_span *text)
{
    uint32_t unit = read_unit(text);
    if (unit < 0xd800 || unit > 0xdfff)
        return unit;
    if (unit > 0xdbff || text->end - text->at < 6 || text->at[0] != '\\' || text->at[1] != 'u')
        return REPLACEMENT;
    struct json_span rest = {text->at + 2, text->end};
    uint32_t low = read_unit(&rest);
    if (low < 0xdc00 || low > 0xdfff)
        return REPLACEMENT;
    text->at = rest.at;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

/* Behind a backslash. */
static void put_escape(struct text *text, struct json_span *source)
{
    static const char names[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    char name = *source->at++;
    if (name == 'u') {
        put_point(text, read_point(source));
        return;
    }
    for (size_t i = 0; names[i] != '\0'; i++)
        if (names[i] == name)
            name = meanings[i];
    put(text, (unsigned char)name);
}

static size_t read_string(struct json_span source, char *bytes, size_t room)
{
    struct text text = {bytes, 0, room};
    for (source.at++, source.end--; source.at < source.end;) {
        char letter = *source.at++;
        if (letter == '\\' && source.at < source.end)
            put_escape(&text, &source);
        else
            put(&text, (unsigned char)letter);
    }
    return text.length;
}

/* As the server writes it: a name without escapes. */
static bool is_name(struct json_span string, const char *name)
{
    for (string.at++; string.at < string.end && *name != '\0' && *string.at == *name; name++)
        string.at++;
    return *name == '\0' && string.end - string.at == 1;
}

size_t json_string_of(struct json_span object, const char *name, char *text, size_t room)
{
    struct json_span members = json_inside(object), key, value;
    while (json_next(&members, &key) && json_next(&members, &value))
        if (is_name(key, name))
            return *value.at == '"' && value.end - value.at > 1 ? read_string(value, text, room)
                                                                : 0;
    return 0;
}

static char lower(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        letter = (char)(letter + ('a' - 'A'));
    return letter;
}

static bool has_word(struct json_span text, const char *word, size_t length)
{
    for (; (size_t)(text.end - text.at) >= length; text.at++) {
        size_t same = 0;
        while (same < length && lower(text.at[same]) == lower(word[same]))
            same++;
        if (same == length)
            return true;
    }
    return false;
}

bool text_has_words(struct json_span text, const char *words)
{
    bool has_all = true;
    while (has_all && *words != '\0') {
        size_t length = 0;
        while (words[length] != '\0' && words[length] != ' ')
            length++;
        has_all = has_word(text, words, length);
        words += length + (words[length] == ' ');
    }
    return has_all;
}
