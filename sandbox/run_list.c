#include "sandbox/run_list.h"

#include <stddef.h>

void run_list_add(struct run_list *list, struct run *run)
{
    run->list = list;
    run->next = NULL;
    run->previous = list->last;
    if (list->last != NULL)
        list->last->next = run;
    else
        list->first = run;
    list->last = run;
    list->count++;
}

void run_list_remove(struct run *run)
{
    struct run_list *list = run->list;
    if (run->previous != NULL)
        run->previous->next = run->next;
    else
        list->first = run->next;
    if (run->next != NULL)
        run->next->previous = run->previous;
    else
        list->last = run->previous;
    list->count--;
    run->list = NULL;
}
