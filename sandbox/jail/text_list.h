/*
 * Strings with one lifetime: what owns the list owns all of them.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_TEXT_LIST_H
#define SANDBOX_JAIL_TEXT_LIST_H

/* Empty: all bytes zero. */
struct text_list {
    struct text_list_entry *last; /* owned, as those before it */
};

/* A formatted string that lives as long as the list; NULL: no memory. */
char *text_list_add(struct text_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Frees all strings. The list is then empty. */
void text_list_release(struct text_list *list);

#endif
