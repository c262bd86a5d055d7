/*
 * Rules on what a program names, told before it runs: the file of --policy, and what a program is judged by.
 *
 *     {"rules": [{"id": "no-process", "match": {"import": ["subprocess"], "call": ["os.system", "os.exec*"]},
 *                 "severity": "refuse", "message": "Processes are not allowed here."}],
 *      "dynamic": "warn", "unparsed": "allow"}
 *
 * Advice for programs that mean well, and no wall: docs/policy.md. Side: parent.
 */
#ifndef INTERPRETER_RULES_RULES_H
#define INTERPRETER_RULES_RULES_H

#include "interpreter/rules/fact.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/json.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#define RULES_FILE_MAX (256 << 10) /* bytes */
#define RULES_COUNT_MAX 256
#define RULE_TEXT_MAX 4096 /* bytes of an id or a message */
#define RULE_PATTERNS_MAX 256 /* of one rule */
#define FINDINGS_MAX 64       /* of one program; refusals are kept before warnings */

enum severity { SEVERITY_ALLOW, SEVERITY_WARN, SEVERITY_REFUSE };

struct rule_pattern {
    enum { MATCH_IMPORT, MATCH_CALL, MATCH_LITERAL } kind;
    char *text;    /* owned; of names: fnmatch(3) */
    regex_t regex; /* MATCH_LITERAL: extended, regex(7) */
};

struct rule {
    char *id;      /* owned */
    char *message; /* owned; may be empty */
    enum severity severity;
    bool is_of_missing; /* it is about modules that the image has not */
    struct rule_pattern *patterns; /* owned */
    size_t pattern_count;
};

struct rules {
    struct rule *list; /* owned */
    size_t count;
    enum severity dynamic;  /* for what is decided at run time */
    enum severity unparsed; /* for programs that could not be checked */
};

#define RULES_NONE ((struct rules){0})

/*
 * Reads the file, or the preset "hints" or "strict"; "off" has no rules. -EINVAL with a fault that names the file,
 * the line and the key; or another negative errno with its fault.
 */
int rules_read(const char *name, struct rules *ret_rules, struct fault *fault);
void rules_release(struct rules *rules);

/* The same from the text of a file, which `name` is the name of for faults. */
int rules_parse(const char *name, const struct buffer *text, struct rules *ret_rules,
                struct fault *fault);

/* Whether rules_read() would read them; NULL is fine. As it. */
int rules_try(const char *name, struct fault *fault);

/* Whether a program must be checked at all; whether its strings, and its missing modules, are asked for. */
bool rules_are_there(const struct rules *rules);
bool rules_want_literals(const struct rules *rules);
bool rules_want_missing(const struct rules *rules);

/* One rule that a place of a program meets. */
struct finding {
    const char *rule; /* its id: borrowed from the rules or findings.told, or static */
    const char *message; /* borrowed; may be empty */
    enum severity severity;
    enum fact_kind kind;
    char *what; /* owned: "subprocess.run" */
    unsigned line, column;
};

struct findings {
    struct finding list[FINDINGS_MAX];
    size_t count;
    struct json *told; /* owned; by a worker, with the rules' texts; or NULL */
    char *unchecked; /* owned: why the program, or a part of it, was not checked; NULL: all was */
};

void findings_release(struct findings *findings);

/* The worst of all; SEVERITY_ALLOW without any. */
enum severity findings_severity(const struct findings *findings);

/*
 * Judges facts of a program, in their order; a place meets a rule once. What takes longer than 0.1 s is left, and noted
 * as unchecked. 0 or -ENOMEM.
 */
int rules_judge(const struct rules *rules, const struct fact *facts, size_t count,
                struct findings *findings);

/* Notes that the program could not be checked, and why: as a finding, too, if the rules care. 0 or -ENOMEM. */
int rules_judge_unparsed(const struct rules *rules, const char *why, struct findings *findings);

/* "warn": static. */
const char *severity_name(enum severity severity);

#endif
