#include "interpreter/rules/rules.h"

#include "interpreter/rules/strict-rules.h"
#include "interpreter/settings/small_file.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COPIES_MAX 100000 /* of a part of an expression */

static const char hints[] =
    "{\"rules\": [{\"id\": \"missing-module\", \"match\": {\"missing_module\": true}, "
    "\"severity\": \"warn\"}], \"dynamic\": \"allow\"}";

/* What a fault needs to name a place. */
struct rules_reading {
    const char *name; /* of the file */
    const struct buffer *text;
    struct fault *fault;
};

static size_t line_of(const struct rules_reading *reading, const struct json_value *value)
{
    size_t line = 1;
    for (size_t i = 0; i < value->end && i < reading->text->length; i++)
        line += reading->text->data[i] == '\n';
    return line;
}

static int refuse(const struct rules_reading *reading, const struct json_value *value,
                  const char *key, const char *what)
{
    return fault_set(reading->fault, EINVAL, "%s, line %zu: \"%s\" %s", reading->name,
                     line_of(reading, value), key, what);
}

static bool is_text(const struct json_value *value)
{
    return value->type == JSON_STRING && strlen(value->text) == value->length;
}

/* An unknown key would be a rule that nobody follows. */
static int check_keys(const struct rules_reading *reading, const struct json_value *object,
                      const char *const *known)
{
    for (const struct json_value *member = object->first; member != NULL; member = member->next) {
        struct spelling spelling = spelling_of(member->key);
        size_t i = 0;
        while (known[i] != NULL && !json_key_is(member, known[i]))
            spelling_offer(&spelling, known[i++]);
        if (known[i] != NULL)
            continue;
        if (spelling.nearest == NULL)
            return refuse(reading, member, member->key, "is not a key");
        return fault_set(reading->fault, EINVAL,
                         "%s, line %zu: \"%s\" is not a key: did you mean \"%s\"?", reading->name,
                         line_of(reading, member), member->key, spelling.nearest);
    }
    return 0;
}

static int read_severity(const struct rules_reading *reading, const struct json_value *object,
                         const char *key, bool may_allow, enum severity *severity)
{
    const struct json_value *value = json_member(object, key);
    if (value == NULL)
        return 0;
    for (enum severity known = may_allow ? SEVERITY_ALLOW : SEVERITY_WARN; known <= SEVERITY_REFUSE;
         known++) {
        if (json_is(value, severity_name(known))) {
            *severity = known;
            return 0;
        }
    }
    return refuse(reading, value, key,
                  may_allow ? "must be \"allow\", \"warn\" or \"refuse\""
                            : "must be \"warn\" or \"refuse\"");
}

static int read_text(const struct rules_reading *reading, const struct json_value *object,
                     const char *key, char **ret_text)
{
    const struct json_value *value = json_member(object, key);
    if (value != NULL && !is_text(value))
        return refuse(reading, value, key, "must be a string");
    if (value != NULL && value->length > RULE_TEXT_MAX)
        return refuse(reading, value, key, "must have 4096 bytes at most");
    *ret_text = strdup(value != NULL ? value->text : "");
    return *ret_text == NULL ? fault_set(reading->fault, ENOMEM, "reading rules: %m") : 0;
}

/* How often "{" in an expression repeats: "{2,5}" and "{5,}" copy five times. */
static unsigned long repetitions_of(const char *brace)
{
    char *end = NULL;
    unsigned long low = strtoul(brace + 1, &end, 10);
    unsigned long high = *end == ',' ? strtoul(end + 1, NULL, 10) : low;
    return (high > low ? high : low) + 1;
}

/*
 * Whether the library compiles and matches it in bounded time and memory: back-references have no bound, and
 * each repetition copies the repeated part, also those in it.
 */
static bool is_bounded(const char *expression)
{
    unsigned long copies = 1;
    for (const char *c = expression; *c != '\0'; c++) {
        if (*c == '\\') {
            c++;
            if (*c == '\0' || (*c >= '1' && *c <= '9'))
                return *c == '\0'; /* which regcomp(3) refuses */
        } else if (*c == '+' || *c == '{') {
            unsigned long factor = *c == '+' ? 2 : repetitions_of(c);
            if (factor > COPIES_MAX || copies * factor > COPIES_MAX)
                return false;
            copies *= factor;
        }
    }
    return true;
}

static int read_pattern(const struct rules_reading *reading, const struct json_value *value,
                        const char *key, struct rule *rule)
{
    struct rule_pattern *pattern = &rule->patterns[rule->pattern_count];
    bool is_literal = strcmp(key, "literal") == 0;
    if (!is_text(value) || value->length == 0)
        return refuse(reading, value, key, "must be strings");
    if (is_literal && !is_bounded(value->text))
        return refuse(reading, value, key,
                      "must have no back-references, and fewer or smaller repetitions: split it");
    if (is_literal) {
        int r = regcomp(&pattern->regex, value->text, REG_EXTENDED | REG_NOSUB);
        char why[128];
        if (r != 0) {
            regerror(r, &pattern->regex, why, sizeof(why));
            return fault_set(
                reading->fault, EINVAL,
                "%s, line %zu: \"literal\" must be extended regular expressions (regex(7)): %s",
                reading->name, line_of(reading, value), why);
        }
        pattern->kind = MATCH_LITERAL;
        rule->pattern_count++; /* the expression is to be released in any case */
    } else {
        pattern->kind = strcmp(key, "call") == 0 ? MATCH_CALL : MATCH_IMPORT;
    }
    pattern->text = strdup(value->text);
    if (pattern->text == NULL)
        return fault_set(reading->fault, ENOMEM, "reading rules: %m");
    rule->pattern_count += !is_literal;
    return 0;
}

/* One string, or an array of them. */
static int read_patterns(const struct rules_reading *reading, const struct json_value *match,
                         const char *key, struct rule *rule)
{
    const struct json_value *value = json_member(match, key);
    if (value == NULL)
        return 0;
    if (value->type == JSON_STRING)
        return read_pattern(reading, value, key, rule);
    if (value->type != JSON_ARRAY)
        return refuse(reading, value, key, "must be an array of strings");
    int r = 0;
    for (const struct json_value *item = value->first; item != NULL && r == 0; item = item->next)
        r = rule->pattern_count == RULE_PATTERNS_MAX
                ? refuse(reading, item, key, "has too many strings: a rule may have 256")
                : read_pattern(reading, item, key, rule);
    return r;
}

static int read_match(const struct rules_reading *reading, const struct json_value *object,
                      struct rule *rule)
{
    static const char *const known[] = {"import", "call", "literal", "missing_module", NULL};
    const struct json_value *match = json_member(object, "match");
    if (match == NULL || match->type != JSON_OBJECT)
        return refuse(reading, match != NULL ? match : object, "match",
                      "must be an object with \"import\", \"call\", \"literal\" or "
                      "\"missing_module\"");
    int r = check_keys(reading, match, known);
    rule->patterns = r == 0 ? calloc(RULE_PATTERNS_MAX + 1, sizeof(*rule->patterns)) : NULL;
    if (r == 0 && rule->patterns == NULL)
        return fault_set(reading->fault, ENOMEM, "reading rules: %m");
    for (size_t i = 0; r == 0 && i < 3; i++)
        r = read_patterns(reading, match, known[i], rule);
    const struct json_value *missing = json_member(match, "missing_module");
    if (r == 0 && missing != NULL && missing->type != JSON_BOOLEAN)
        r = refuse(reading, missing, "missing_module", "must be true or false");
    if (r < 0)
        return r;
    rule->is_of_missing = missing != NULL && missing->boolean;
    if (rule->pattern_count == 0 && !rule->is_of_missing)
        return refuse(reading, match, "match", "matches nothing");
    return 0;
}

static int read_rule(const struct rules_reading *reading, const struct json_value *object,
                     struct rules *rules)
{
    static const char *const known[] = {"id", "match", "severity", "message", NULL};
    if (object->type != JSON_OBJECT)
        return refuse(reading, object, "rules", "must be an array of objects");
    struct rule *rule = &rules->list[rules->count++];
    int r = check_keys(reading, object, known);
    if (r == 0)
        r = read_text(reading, object, "id", &rule->id);
    if (r == 0 && rule->id[0] == '\0')
        r = refuse(reading, object, "id", "is missing: each rule needs a name");
    if (r == 0 && (strcmp(rule->id, "dynamic") == 0 || strcmp(rule->id, "unparsed") == 0))
        r = refuse(reading, json_member(object, "id"), "id",
                   "is a name that findings have already");
    for (size_t i = 0; r == 0 && i + 1 < rules->count; i++)
        if (strcmp(rules->list[i].id, rule->id) == 0)
            r = refuse(reading, json_member(object, "id"), "id", "is that of another rule, too");
    if (r == 0)
        r = read_text(reading, object, "message", &rule->message);
    if (r == 0 && json_member(object, "severity") == NULL)
        r = refuse(reading, object, "severity", "is missing: \"warn\" or \"refuse\"");
    if (r == 0)
        r = read_severity(reading, object, "severity", false, &rule->severity);
    return r < 0 ? r : read_match(reading, object, rule);
}

static int read_document(const struct rules_reading *reading, const struct json_value *root,
                         struct rules *rules)
{
    static const char *const known[] = {"rules", "dynamic", "unparsed", NULL};
    if (root->type != JSON_OBJECT)
        return fault_set(reading->fault, EINVAL,
                         "%s must be a JSON object: {\"rules\": [...], \"dynamic\": \"warn\"}",
                         reading->name);
    int r = check_keys(reading, root, known);
    rules->dynamic = SEVERITY_WARN;
    if (r == 0)
        r = read_severity(reading, root, "dynamic", true, &rules->dynamic);
    if (r == 0)
        r = read_severity(reading, root, "unparsed", true, &rules->unparsed);
    const struct json_value *list = json_member(root, "rules");
    if (r < 0 || list == NULL)
        return r;
    if (list->type != JSON_ARRAY || list->count > RULES_COUNT_MAX)
        return refuse(reading, list, "rules", "must be an array of at most 256 objects");
    rules->list = calloc(list->count + 1, sizeof(*rules->list));
    if (rules->list == NULL)
        return fault_set(reading->fault, ENOMEM, "reading rules: %m");
    for (const struct json_value *object = list->first; object != NULL && r == 0;
         object = object->next)
        r = read_rule(reading, object, rules);
    return r;
}

static int take_text(const char *name, struct buffer *text, struct fault *fault)
{
    int r = 0;
    if (strcmp(name, "hints") == 0)
        r = buffer_append(text, hints, strlen(hints));
    else if (strcmp(name, "strict") == 0)
        r = buffer_append(text, strict_rules_json, sizeof(strict_rules_json));
    else {
        r = small_file_read(name, "the rules", RULES_FILE_MAX, text, fault);
        return r == -ENOENT ? fault_set(fault, ENOENT,
                                        "the rules %s: %m (\"off\", \"hints\" and \"strict\" need "
                                        "no file)",
                                        name)
                            : r;
    }
    return r < 0 ? fault_set(fault, -r, "reading rules: %m") : 0;
}

int rules_parse(const char *name, const struct buffer *text, struct rules *ret_rules,
                struct fault *fault)
{
    OWNED(json_release) struct json *json = NULL;
    *ret_rules = RULES_NONE;
    int r = json_parse(text->data, text->length, &json, fault);
    if (r == 0)
        r = json_check_unique(json_root(json), fault);
    if (r < 0) {
        fault_prefix(fault, "%s", name);
        return r;
    }
    r = read_document(&(struct rules_reading){name, text, fault}, json_root(json), ret_rules);
    if (r < 0)
        rules_release(ret_rules);
    return r;
}

int rules_read(const char *name, struct rules *ret_rules, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(2 * RULES_FILE_MAX);
    *ret_rules = RULES_NONE;
    if (strcmp(name, "off") == 0)
        return 0;
    int r = take_text(name, &text, fault);
    return r < 0 ? r : rules_parse(name, &text, ret_rules, fault);
}

int rules_try(const char *name, struct fault *fault)
{
    struct rules rules = RULES_NONE;
    int r = name != NULL ? rules_read(name, &rules, fault) : 0;
    rules_release(&rules);
    return r;
}
