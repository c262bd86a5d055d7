#include "cli/sarif.h"

#include "interpreter/rules/findings_text.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/percent.h"

#include <string.h>

#define MESSAGE_MAX 16384
#define URI_MAX 16384

static void write_rule(struct json_writer *writer, const char *id, const char *message)
{
    json_begin_object(writer);
    json_text_member(writer, "id", id);
    if (message[0] != '\0') {
        json_key(writer, "shortDescription");
        json_begin_object(writer);
        json_text_member(writer, "text", message);
        json_end_object(writer);
    }
    json_end_object(writer);
}

void sarif_begin(struct json_writer *writer, const struct rules *rules)
{
    json_begin_object(writer);
    json_text_member(writer, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_text_member(writer, "version", "2.1.0");
    json_key(writer, "runs");
    json_begin_array(writer);
    json_begin_object(writer);
    json_key(writer, "tool");
    json_begin_object(writer);
    json_key(writer, "driver");
    json_begin_object(writer);
    json_text_member(writer, "name", "code-sandbox-mcp");
    json_text_member(writer, "version", PROJECT_VERSION);
    json_key(writer, "rules");
    json_begin_array(writer);
    for (size_t i = 0; i < rules->count; i++)
        write_rule(writer, rules->list[i].id, rules->list[i].message);
    write_rule(writer, "dynamic", "The program decides at run time what it does");
    write_rule(writer, "unparsed", "The program could not be checked");
    json_end_array(writer);
    json_end_object(writer);
    json_end_object(writer);
    json_text_member(writer, "columnKind", "unicodeCodePoints");
    json_key(writer, "results");
    json_begin_array(writer);
}

static void write_location(struct json_writer *writer, const char *path,
                           const struct finding *finding)
{
    OWNED(buffer_release) struct buffer uri = BUFFER(URI_MAX);
    json_begin_object(writer);
    json_key(writer, "physicalLocation");
    json_begin_object(writer);
    json_key(writer, "artifactLocation");
    json_begin_object(writer);
    if (percent_encode(&uri, path, strlen(path)) == 0) {
        json_key(writer, "uri");
        json_string(writer, uri.data, uri.length);
    }
    json_end_object(writer);
    json_key(writer, "region");
    json_begin_object(writer);
    json_number_member(writer, "startLine", finding->line);
    json_number_member(writer, "startColumn", finding->column);
    json_end_object(writer);
    json_end_object(writer);
    json_end_object(writer);
}

void sarif_add(struct json_writer *writer, const char *path, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->list[i];
        OWNED(buffer_release) struct buffer text = BUFFER(MESSAGE_MAX);
        findings_text_describe(finding, &text);
        json_begin_object(writer);
        json_text_member(writer, "ruleId", finding->rule);
        json_text_member(writer, "level",
                         finding->severity == SEVERITY_REFUSE ? "error" : "warning");
        json_key(writer, "message");
        json_begin_object(writer);
        json_key(writer, "text");
        json_string(writer, text.data, text.length);
        json_end_object(writer);
        json_key(writer, "locations");
        json_begin_array(writer);
        write_location(writer, path, finding);
        json_end_array(writer);
        json_end_object(writer);
    }
}

void sarif_end(struct json_writer *writer)
{
    json_end_array(writer);
    json_end_object(writer);
    json_end_array(writer);
    json_end_object(writer);
}
