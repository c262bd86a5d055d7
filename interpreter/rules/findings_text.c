#include "interpreter/rules/findings_text.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CHECK_NS_MAX (INT64_C(3600) * 1000 * 1000 * 1000) /* that a worker may tell */
#define JSON_BYTE_MAX 6  /* of a text, in JSON */
#define MEMBERS_ROOM 256 /* what is in an object besides its texts */
#define SHOWN_MAX 80 /* bytes of a name or a string */

static int describe_place(const struct finding *finding, struct buffer *text)
{
    char what[SHOWN_MAX + 1];
    int length = snprintf(what, sizeof(what), "%s", finding->what);
    length = length < SHOWN_MAX ? length : SHOWN_MAX;
    utf8_make_plain(what, false); /* from the program: untrusted */
    switch (finding->kind) {
    case FACT_IMPORT:
        return buffer_format(text, "line %u imports %.*s", finding->line, length, what);
    case FACT_NAME:
    case FACT_GLOBAL:
        return buffer_format(text, "line %u uses %.*s", finding->line, length, what);
    case FACT_LITERAL:
        return buffer_format(text, "line %u has a string of a kind that the rule is about",
                             finding->line);
    case FACT_MISSING:
        return buffer_format(text, "line %u imports %.*s, which the image does not have",
                             finding->line, length, what);
    case FACT_DYNAMIC:
        return buffer_format(text, "line %u decides at run time what %.*s does", finding->line,
                             length, what);
    case FACT_UNPARSED:
        break;
    }
    return buffer_format(text, "the program could not be checked: %.*s", length, what);
}

int findings_text_describe(const struct finding *finding, struct buffer *text)
{
    OWNED_MEMORY char *advice = NULL;
    int r = describe_place(finding, text);
    int length = asprintf(&advice, " (rule %.60s)%s%s", finding->rule,
                          finding->message[0] != '\0' ? ": " : "", finding->message);
    if (length < 0)
        advice = NULL;
    if (r < 0 || advice == NULL)
        return r < 0 ? r : -ENOMEM;
    utf8_make_plain(advice, true); /* a worker may have told it */
    return buffer_append_text(text, advice);
}

int findings_text_list(const struct findings *findings, enum severity severity, const char *prefix,
                       struct buffer *text)
{
    size_t told = 0;
    size_t left = 0;
    int r = 0;
    for (size_t i = 0; i < findings->count && r == 0; i++) {
        if (findings->list[i].severity != severity)
            continue;
        if (told == FINDINGS_SHOWN) {
            left++;
            continue;
        }
        r = buffer_format(text, "%s%s", told++ == 0 ? "" : "\n", prefix);
        if (r == 0)
            r = findings_text_describe(&findings->list[i], text);
    }
    return r < 0 || left == 0 ? r : buffer_format(text, "\n%sand %zu more", prefix, left);
}

void findings_text_write(struct json_writer *writer, const struct findings *findings)
{
    json_begin_array(writer);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->list[i];
        json_begin_object(writer);
        json_text_member(writer, "rule", finding->rule);
        json_number_member(writer, "line", finding->line);
        json_number_member(writer, "column", finding->column);
        json_text_member(writer, "severity", severity_name(finding->severity));
        json_text_member(writer, "kind", fact_kind_name(finding->kind));
        json_text_member(writer, "what", finding->what);
        json_text_member(writer, "message", finding->message);
        json_end_object(writer);
    }
    json_end_array(writer);
}

void findings_text_carry(struct json_writer *writer, const struct findings *findings, int64_t ns)
{
    json_begin_object(writer);
    json_key(writer, "findings");
    findings_text_write(writer, findings);
    json_key(writer, "unchecked");
    if (findings->unchecked != NULL)
        json_text(writer, findings->unchecked);
    else
        json_null(writer);
    json_number_member(writer, "ns", ns);
    json_end_object(writer);
}

static bool read_text(const struct json_value *object, const char *name, const char **ret_text)
{
    const struct json_value *text = json_member(object, name);
    if (text == NULL || text->type != JSON_STRING || text->length > RULE_TEXT_MAX ||
        strlen(text->text) != text->length)
        return false;
    *ret_text = text->text;
    return true;
}

static bool read_place(const struct json_value *object, const char *name, unsigned *ret_place)
{
    int64_t number;
    if (json_integer(json_member(object, name), &number) < 0 || number < 0 || number > INT32_MAX)
        return false;
    *ret_place = (unsigned)number;
    return true;
}

static bool read_severity(const struct json_value *object, enum severity *ret_severity)
{
    for (enum severity known = SEVERITY_WARN; known <= SEVERITY_REFUSE; known++) {
        if (json_is(json_member(object, "severity"), severity_name(known))) {
            *ret_severity = known;
            return true;
        }
    }
    return false;
}

static bool read_kind(const struct json_value *object, enum fact_kind *ret_kind)
{
    for (enum fact_kind known = FACT_IMPORT; known <= FACT_UNPARSED; known++) {
        if (json_is(json_member(object, "kind"), fact_kind_name(known))) {
            *ret_kind = known;
            return true;
        }
    }
    return false;
}

static int read_finding(const struct json_value *value, struct finding *finding)
{
    const char *what;
    bool is_good = read_text(value, "rule", &finding->rule) &&
                   read_text(value, "message", &finding->message) &&
                   read_text(value, "what", &what) && read_severity(value, &finding->severity) &&
                   read_kind(value, &finding->kind) && read_place(value, "line", &finding->line) &&
                   read_place(value, "column", &finding->column);
    if (!is_good)
        return -EINVAL;
    finding->what = strdup(what);
    return finding->what == NULL ? -ENOMEM : 0;
}

static int read_unchecked(const struct json_value *value, struct findings *findings)
{
    const char *text;
    const struct json_value *unchecked = json_member(value, "unchecked");
    if (unchecked == NULL || unchecked->type == JSON_NULL)
        return unchecked == NULL ? -EINVAL : 0;
    if (!read_text(value, "unchecked", &text))
        return -EINVAL;
    findings->unchecked = strdup(text);
    if (findings->unchecked == NULL)
        return -ENOMEM;
    utf8_make_plain(findings->unchecked, false);
    return 0;
}

int findings_text_read_carried(const struct buffer *text, struct findings *findings,
                               int64_t *ret_ns)
{
    int r = json_parse(text->data, text->length, &findings->told, NULL);
    const struct json_value *root = r == 0 ? json_root(findings->told) : NULL;
    const struct json_value *list = json_member(root, "findings");
    int64_t ns;
    if (list == NULL || list->type != JSON_ARRAY || list->count > FINDINGS_MAX ||
        json_integer(json_member(root, "ns"), &ns) < 0 || ns < 0 || ns > CHECK_NS_MAX)
        return r == -ENOMEM ? r : -EINVAL;
    r = read_unchecked(root, findings);
    for (const struct json_value *value = list->first; r == 0 && value != NULL;
         value = value->next) {
        r = read_finding(value, &findings->list[findings->count]);
        findings->count += r == 0;
    }
    if (r == 0)
        *ret_ns = ns;
    return r;
}

size_t findings_text_room(const struct findings *findings)
{
    size_t room = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->list[i];
        room += JSON_BYTE_MAX *
                    (strlen(finding->rule) + strlen(finding->message) + strlen(finding->what)) +
                MEMBERS_ROOM;
    }
    return room;
}
