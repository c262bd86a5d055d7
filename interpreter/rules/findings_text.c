#include "interpreter/rules/findings_text.h"

#include "sandbox/base/utf8.h"

#include <errno.h>
#include <stdio.h>

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
    int r = describe_place(finding, text);
    if (r == 0)
        r = buffer_format(text, " (rule %.60s)", finding->rule);
    if (r == 0 && finding->message[0] != '\0')
        r = buffer_format(text, ": %s", finding->message);
    return r;
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
