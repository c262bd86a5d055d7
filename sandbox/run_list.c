#include "sandbox/run_list.h"
#include "sandbox/base/list.h"

#include <stddef.h>

void run_list_add(struct run_list *list, struct run *run)
{
    run->list = list;
    QUEUE_APPEND(list, run);
    list->count++;
}

void run_list_remove(struct run *run)
{
    struct run_list *list = run->list;
    QUEUE_REMOVE(list, run);
    list->count--;
    run->list = NULL;
}
