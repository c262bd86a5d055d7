#include "interpreter/rules/check_answer.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <limits.h>

static const char no_answer[] = "the checker gave no answer";

static bool read_number(const struct json_value *value, unsigned *ret_number)
{
    int64_t number;
    if (json_integer(value, &number) < 0 || number < 1 || number > INT_MAX)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

/* [kind, name, line, column] */
static bool read_fact(const struct json_value *item, struct fact *fact)
{
    if (item->type != JSON_ARRAY || item->count != 4)
        return false;
    const struct json_value *kind = item->first;
    const struct json_value *name = kind->next;
    for (fact->kind = 0; fact->kind < FACT_UNPARSED; fact->kind++)
        if (json_is(kind, fact_kind_name(fact->kind)))
            break;
    fact->name = name->text;
    return fact->kind < FACT_UNPARSED && name->type == JSON_STRING &&
           name->length <= (fact->kind == FACT_LITERAL ? FACT_LITERAL_MAX : FACT_NAME_MAX) &&
           read_number(name->next, &fact->line) && read_number(name->next->next, &fact->column);
}

static int judge_facts(const struct rules *rules, const struct json_value *list,
                       struct findings *findings)
{
    OWNED_MEMORY struct fact *facts = calloc(list->count + 1, sizeof(*facts));
    size_t count = 0;
    if (facts == NULL)
        return -ENOMEM;
    for (const struct json_value *item = list->first; item != NULL; item = item->next)
        if (!read_fact(item, &facts[count++]))
            return -EPROTO;
    return rules_judge(rules, facts, count, findings);
}

const char *check_answer_read(const struct rules *rules, const char *text, size_t length,
                              struct findings *findings)
{
    OWNED(json_release) struct json *json = NULL;
    if (length == 0 || json_parse(text, length, &json, NULL) < 0)
        return no_answer;
    const struct json_value *facts = json_member(json_root(json), "facts");
    const struct json_value *unparsed = json_member(json_root(json), "unparsed");
    if (unparsed != NULL && unparsed->type == JSON_STRING)
        return rules_judge_unparsed(rules, unparsed->text, findings) == 0 ? NULL : "no memory";
    if (facts == NULL || facts->type != JSON_ARRAY || facts->count > FACTS_MAX)
        return no_answer;
    int r = judge_facts(rules, facts, findings);
    const struct json_value *more = json_member(json_root(json), "more");
    if (r == 0 && more != NULL && more->type == JSON_BOOLEAN && more->boolean)
        r = rules_judge_unparsed(rules, "it names more than can be checked", findings);
    return r == 0 ? NULL : r == -ENOMEM ? "no memory" : no_answer;
}
