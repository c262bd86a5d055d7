/* Compares a profile with the built-in one, entry by entry. */
#include "sandbox/jail/filter.h"

#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "seccomp-profiles/default-profile.h"

#include <stdio.h>
#include <string.h>

static const struct json_value *first_of(const struct json_value *owner, const char *member)
{
    const struct json_value *list = json_member(owner, member);
    return list != NULL ? list->first : NULL;
}

/* A number of an entry of args; it may be missing. */
static int64_t number_of(const struct json_value *argument, const char *member)
{
    int64_t number = 0;
    return json_integer(json_member(argument, member), &number) == 0 ? number : 0;
}

static bool is_same_argument(const struct json_value *one, const struct json_value *other)
{
    const struct json_value *operation = json_member(other, "op");
    return number_of(one, "index") == number_of(other, "index") &&
           number_of(one, "value") == number_of(other, "value") &&
           number_of(one, "valueTwo") == number_of(other, "valueTwo") && operation != NULL &&
           json_is(json_member(one, "op"), operation->text);
}

static bool are_same_arguments(const struct json_value *one, const struct json_value *other)
{
    for (; one != NULL && other != NULL; one = one->next, other = other->next)
        if (!is_same_argument(one, other))
            return false;
    return one == other;
}

static bool is_named(const struct json_value *rule, const struct json_value *name)
{
    const struct json_value *own = first_of(rule, "names");
    while (own != NULL && !json_is(own, name->text))
        own = own->next;
    return own != NULL;
}

/* Whether one of these entries allows the call whatever its arguments, or with the same conditions. */
static bool is_allowed(const struct json_value *rules, const struct json_value *name,
                       const struct json_value *arguments)
{
    for (; rules != NULL; rules = rules->next) {
        const struct json_value *own = first_of(rules, "args");
        if (json_is(json_member(rules, "action"), "SCMP_ACT_ALLOW") && is_named(rules, name) &&
            (own == NULL || are_same_arguments(own, arguments)))
            return true;
    }
    return false;
}

/* The first name of a call that the rules allow, and those of the built-in profile do not. */
static const char *find_more(const struct json_value *rules, const struct json_value *built_in)
{
    for (; rules != NULL; rules = rules->next) {
        if (!json_is(json_member(rules, "action"), "SCMP_ACT_ALLOW"))
            continue;
        const struct json_value *name = first_of(rules, "names");
        for (; name != NULL; name = name->next)
            if (!is_allowed(built_in, name, first_of(rules, "args")))
                return name->text;
    }
    return NULL;
}

bool filter_is_within_default(const char *profile, char ret_call[FILTER_CALL_SIZE])
{
    OWNED(json_release) struct json *own = NULL;
    OWNED(json_release) struct json *built_in = NULL;
    ret_call[0] = '\0';
    if (profile == NULL)
        return true;
    if (json_parse(profile, strlen(profile), &own, NULL) < 0 ||
        json_parse(default_profile_json, sizeof(default_profile_json), &built_in, NULL) < 0)
        return false;
    const char *more =
        find_more(first_of(json_root(own), "syscalls"), first_of(json_root(built_in), "syscalls"));
    if (more != NULL)
        snprintf(ret_call, FILTER_CALL_SIZE, "%s", more);
    return more == NULL;
}
