#include "interpreter/rules/rules.h"

#include "sandbox/base/loop.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LEVELS_MAX 8
/* The rules are the operator's, but the strings are the program's, and regexec(3) is quadratic in them. */
#define JUDGE_MAX_MS 100
#define UNCHECKED_MAX 300 /* bytes */

static const char *const kinds[] = {
    [FACT_IMPORT] = "import",     [FACT_NAME] = "name",       [FACT_LITERAL] = "literal",
    [FACT_GLOBAL] = "global",     [FACT_MISSING] = "missing", [FACT_DYNAMIC] = "dynamic",
    [FACT_UNPARSED] = "unparsed",
};

static const char *const severities[] = {
    [SEVERITY_ALLOW] = "allow", [SEVERITY_WARN] = "warn", [SEVERITY_REFUSE] = "refuse"};

const char *fact_kind_name(enum fact_kind kind)
{
    return kinds[kind];
}

const char *severity_name(enum severity severity)
{
    return severities[severity];
}

static void release_rule(struct rule *rule)
{
    for (size_t i = 0; i < rule->pattern_count; i++) {
        if (rule->patterns[i].kind == MATCH_LITERAL)
            regfree(&rule->patterns[i].regex);
        free(rule->patterns[i].text);
    }
    free(rule->patterns);
    free(rule->id);
    free(rule->message);
}

void rules_release(struct rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        release_rule(&rules->list[i]);
    free(rules->list);
    *rules = RULES_NONE;
}

void findings_release(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        free(findings->list[i].what);
    findings->count = 0;
    json_release(&findings->told);
    free(findings->unchecked);
    findings->unchecked = NULL;
}

bool rules_are_there(const struct rules *rules)
{
    return rules->count > 0 || rules->dynamic != SEVERITY_ALLOW ||
           rules->unparsed != SEVERITY_ALLOW;
}

bool rules_want_literals(const struct rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        for (size_t j = 0; j < rules->list[i].pattern_count; j++)
            if (rules->list[i].patterns[j].kind == MATCH_LITERAL)
                return true;
    return false;
}

bool rules_want_missing(const struct rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        if (rules->list[i].is_of_missing)
            return true;
    return false;
}

enum severity findings_severity(const struct findings *findings)
{
    enum severity worst = SEVERITY_ALLOW;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].severity > worst)
            worst = findings->list[i].severity;
    return worst;
}

/*
 * "subprocess" matches itself and all below it: "subprocess.run", and in JavaScript "fs/promises". A program may have
 * names of any depth: only so many levels are looked at.
 */
static bool matches_name(const char *pattern, const char *name)
{
    char copy[FACT_NAME_MAX + 1];
    size_t length = 0;
    for (unsigned level = 0; level < NAME_LEVELS_MAX; level++) {
        length += strcspn(name + length, "./");
        if (length >= sizeof(copy))
            return false;
        memcpy(copy, name, length);
        copy[length] = '\0';
        if (fnmatch(pattern, copy, 0) == 0)
            return true;
        if (name[length] == '\0')
            return false;
        length++;
    }
    return fnmatch(pattern, name, 0) == 0;
}

static bool meets(const struct rule_pattern *pattern, const struct fact *fact)
{
    switch (pattern->kind) {
    case MATCH_IMPORT:
        return (fact->kind == FACT_IMPORT || fact->kind == FACT_NAME) &&
               matches_name(pattern->text, fact->name);
    case MATCH_CALL:
        return (fact->kind == FACT_NAME || fact->kind == FACT_GLOBAL) &&
               matches_name(pattern->text, fact->name);
    case MATCH_LITERAL:
        break;
    }
    return fact->kind == FACT_LITERAL && regexec(&pattern->regex, fact->name, 0, NULL, 0) == 0;
}

static bool meets_rule(const struct rule *rule, const struct fact *fact)
{
    if (rule->is_of_missing && fact->kind == FACT_MISSING)
        return true;
    for (size_t i = 0; i < rule->pattern_count; i++)
        if (meets(&rule->patterns[i], fact))
            return true;
    return false;
}

/* A free one; for a refusal also that of the last warning. NULL: there is none. */
static struct finding *place_for(struct findings *findings, enum severity severity)
{
    if (findings->count < FINDINGS_MAX) {
        findings->list[findings->count].what = NULL;
        return &findings->list[findings->count++];
    }
    for (size_t i = findings->count; severity == SEVERITY_REFUSE && i > 0; i--)
        if (findings->list[i - 1].severity != SEVERITY_REFUSE)
            return &findings->list[i - 1];
    return NULL;
}

static int add_finding(struct findings *findings, const struct finding *finding)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *other = &findings->list[i];
        if (other->rule == finding->rule && other->line == finding->line &&
            other->column == finding->column)
            return 0;
    }
    /* A string may be a secret, which a rule keeps from being printed. */
    char *what = strdup(finding->kind == FACT_LITERAL ? "a string" : finding->what);
    if (what == NULL)
        return -ENOMEM;
    struct finding *place = place_for(findings, finding->severity);
    if (place == NULL) {
        free(what);
        return 0;
    }
    free(place->what);
    *place = *finding;
    place->what = what;
    return 0;
}

static int judge_by_rules(const struct rules *rules, const struct fact *fact,
                          struct findings *findings)
{
    int r = 0;
    for (size_t i = 0; i < rules->count && r == 0; i++) {
        const struct rule *rule = &rules->list[i];
        if (meets_rule(rule, fact))
            r = add_finding(findings,
                            &(struct finding){rule->id, rule->message, rule->severity, fact->kind,
                                              (char *)fact->name, fact->line, fact->column});
    }
    return r;
}

int rules_judge(const struct rules *rules, const struct fact *facts, size_t count,
                struct findings *findings)
{
    int64_t end = clock_now() + JUDGE_MAX_MS * NANOSECONDS_PER_MILLISECOND;
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        const struct fact *fact = &facts[i];
        if (clock_now() > end)
            return rules_judge_unparsed(rules, "its names and strings take too long to compare",
                                        findings);
        if (fact->kind != FACT_DYNAMIC)
            r = judge_by_rules(rules, fact, findings);
        else if (rules->dynamic != SEVERITY_ALLOW)
            r = add_finding(findings,
                            &(struct finding){"dynamic", "", rules->dynamic, FACT_DYNAMIC,
                                              (char *)fact->name, fact->line, fact->column});
    }
    return r;
}

int rules_judge_unparsed(const struct rules *rules, const char *why, struct findings *findings)
{
    if (findings->unchecked == NULL)
        findings->unchecked = strndup(why, UNCHECKED_MAX);
    if (findings->unchecked == NULL)
        return -ENOMEM;
    if (rules->unparsed == SEVERITY_ALLOW)
        return 0;
    return add_finding(findings, &(struct finding){"unparsed", "", rules->unparsed, FACT_UNPARSED,
                                                   findings->unchecked, 1, 1});
}
