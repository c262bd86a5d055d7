/*
 * Checks programs against the rules of --policy before they run: for each language an interpreter in a sandbox of
 * its own, a session without network and folders, which parses them and never runs them.
 *
 * A checker that dies, hangs or answers nonsense makes the finding "unparsed", and the next check starts another. It is no
 * wall: what it says of a program is advice. Side: parent.
 */
#ifndef INTERPRETER_CHECKER_H
#define INTERPRETER_CHECKER_H

#include "interpreter/launcher.h"
#include "interpreter/rules/rules.h"

#define CHECK_MAX_MS 5000 /* of one program; then it is unparsed */
#define CHECKS_MAX 1000   /* in one sandbox; then the next takes over */
#define CHECKS_QUEUED_MAX 16 /* in one sandbox at once; further ones wait before it */
#define CHECKS_WAITING_MAX 256
#define CHECKS_BYTES_MAX (64 << 20) /* of all programs that wait or are being checked */

struct checker_session;

struct checker {
    struct rules rules; /* owned */
    struct settings settings; /* owned: of its sandboxes */
    struct launcher launcher;
    struct checker_session *current[LANGUAGE_COUNT]; /* owned; NULL: the next check starts one */
    struct checker_session *retired; /* owned: a list; they end when their checks have */
    struct check *waiting; /* borrowed: the first; in their order */
    size_t waiting_count;
    size_t bytes; /* of all checks that are not done */
    struct loop_timer reap;
};

/* One program that is being checked; part of its owner. */
struct check {
    /* Called once from the loop, unless the check is dropped. The findings are complete. */
    void (*done)(struct check *check);
    size_t held; /* bytes that the owner keeps meanwhile; its to set before each begin */
    struct findings findings; /* to be released by the owner */
    int64_t duration_ns;
    bool has_failed; /* the checker did; findings.unchecked says how */
    bool is_told;    /* a worker made it */
    bool is_lost;    /* it had no turn yet: begin again */
    /* The rest is the checker's. */
    struct checker *checker;
    struct checker_session *session;
    const struct language *language;
    struct check *next; /* of those that wait for a place among the cells */
    bool is_waiting;
    unsigned losses; /* how often its sandbox ended before its turn */
    size_t bytes; /* of it in the sum of all; 0: it is not under way */
    struct cell *cell; /* NULL: it does not go on */
    int64_t began;
};

/*
 * Reads the rules that the settings name. To be released in any case; the checker is to stay where it is. 0; -EINVAL or another negative errno with
 * a fault that names the file, its line and key.
 */
int checker_open(struct checker *checker, struct loop *loop, const struct settings *settings,
                 struct fault *fault);

/* Ends its sandboxes; no check is done any more. To be called before the loop is closed. */
void checker_stop(struct checker *checker);
void checker_release(struct checker *checker);

/* Whether there are checks for the language at all. */
bool checker_knows(const struct language *language);

/* Whether programs of the language are checked, by the rules that there are. */
bool checker_is_for(const struct checker *checker, const struct language *language);

/*
 * Begins the check of a snippet, all of which is borrowed for the call. check->done() follows if it returns 0. A
 * negative errno with its fault: -EAGAIN too many wait; -ENOENT there is no image; others.
 */
int check_begin(struct check *check, struct checker *checker, const struct snippet *snippet,
                struct fault *fault);

/* Whether there was one, here or on a worker. */
bool check_was_made(const struct check *check);

/* Makes it the check that a worker tells of in a result, if it does: findings_text.h. */
void check_take_told(struct check *check, const struct buffer *text);

/* Nobody wants to know any more; also where it has never begun or is done. */
void check_drop(struct check *check);

#endif
