/*
 * The rules of .gitignore files: which new files nobody wants in a patch.
 *
 * The rules are the host's, which a snippet cannot change. As in git, the last rule that matches decides, a
 * rule of a directory counts more than one above it, and nothing below an ignored directory comes back.
 *
 * Side: code-sandbox-mcp-changes.  Source: gitignore(5).
 */
#ifndef INTERPRETER_CHANGES_IGNORE_H
#define INTERPRETER_CHANGES_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#define IGNORE_RULES_MAX 4096
#define IGNORE_RULE_SIZE 512 /* bytes of a rule with its NUL; longer ones are passed over */

struct ignore_rule {
    char *pattern;     /* owned; without "!" and without "/" at its begin and end */
    size_t base;       /* bytes of the path of its directory, with the "/" behind it */
    bool is_anchored;  /* it is matched from there, else at any depth */
    bool is_directory; /* it is for directories only */
    bool is_negated;   /* what it matches is not ignored */
};

/* All zero: none. */
struct ignore {
    struct ignore_rule *rules; /* owned */
    size_t count, capacity;
};

/*
 * Adds the rules of a file in the directory of which the path has `base` bytes, with its "/". What is no rule, or too
 * much, is passed over. 0 or -ENOMEM.
 */
int ignore_add(struct ignore *ignore, size_t base, const char *text, size_t length);

/* Adds those of the .gitignore in a directory of the host, if it can be read. 0 or -ENOMEM. */
int ignore_add_file(struct ignore *ignore, size_t base, int directory_fd);

/* Drops the rules past the first `count`. */
void ignore_drop(struct ignore *ignore, size_t count);

/*
 * Whether the path (relative to the folder, below the directories of all rules) is ignored, its directories aside.
 */
bool ignore_has(const struct ignore *ignore, const char *path, bool is_directory);

#endif
