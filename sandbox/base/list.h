/*
 * Intrusive lists: each item has members `previous` and `next`, and is in one list at most. A list is a pointer to its first
 * item, or, to append to it, a struct with `first` and `last`. Empty lists, and the ends, are NULL.
 *
 *     struct stream { struct stream *previous, *next; ... };
 *     LIST_PREPEND(jail->streams, stream);
 *     LIST_EACH(struct stream, stream, jail->streams)
 *         if (is_old(stream))
 *             stream_free(stream); // which may LIST_REMOVE(jail->streams, stream)
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_LIST_H
#define SANDBOX_BASE_LIST_H

#include <stddef.h>

#define LIST_PREPEND(head, item)                                                                   \
    do {                                                                                           \
        (item)->previous = NULL;                                                                   \
        (item)->next = (head);                                                                     \
        if ((head) != NULL)                                                                        \
            (head)->previous = (item);                                                             \
        (head) = (item);                                                                           \
    } while (0)

/* Walks to the end: for short lists. */
#define LIST_APPEND(head, item)                                                                    \
    do {                                                                                           \
        __typeof__(item) *end_ = &(head), last_ = NULL;                                            \
        for (; *end_ != NULL; end_ = &last_->next)                                                 \
            last_ = *end_;                                                                         \
        (item)->previous = last_;                                                                  \
        (item)->next = NULL;                                                                       \
        *end_ = (item);                                                                            \
    } while (0)

/* The item must be in the list. */
#define LIST_REMOVE(head, item)                                                                    \
    do {                                                                                           \
        if ((item)->next != NULL)                                                                  \
            (item)->next->previous = (item)->previous;                                             \
        *((item)->previous != NULL ? &(item)->previous->next : &(head)) = (item)->next;            \
        (item)->previous = (item)->next = NULL;                                                    \
    } while (0)

#define QUEUE_APPEND(list, item)                                                                   \
    do {                                                                                           \
        (item)->previous = (list)->last;                                                           \
        (item)->next = NULL;                                                                       \
        *((list)->last != NULL ? &(list)->last->next : &(list)->first) = (item);                   \
        (list)->last = (item);                                                                     \
    } while (0)

/* The item must be in the list. */
#define QUEUE_REMOVE(list, item)                                                                   \
    do {                                                                                           \
        if ((list)->last == (item))                                                                \
            (list)->last = (item)->previous;                                                       \
        LIST_REMOVE((list)->first, item);                                                          \
    } while (0)

/* The body may remove its own item, and no other. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a name that is declared take none */
#define LIST_EACH(type, item, head)                                                                \
    for (type *item = (head), *item##_next = NULL; item != NULL && (item##_next = item->next, 1);  \
         item = item##_next)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
