#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct thing {
    struct thing *previous, *next;
    int number;
};

struct queue {
    struct thing *first, *last;
};

/* The numbers in their order, forwards; the pointers back agree. */
static int digits_of(struct thing *first)
{
    int digits = 0;
    const struct thing *previous = NULL;
    LIST_EACH (struct thing, thing, first) {
        assert_ptr_equal(thing->previous, previous);
        previous = thing;
        digits = digits * 10 + thing->number;
    }
    return digits;
}

static void items_come_at_either_end(void **state)
{
    (void)state;
    struct thing things[] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct thing *list = NULL;
    LIST_PREPEND(list, &things[0]);
    LIST_PREPEND(list, &things[1]);
    LIST_APPEND(list, &things[2]);
    assert_int_equal(digits_of(list), 213);
    struct thing *other = NULL;
    LIST_REMOVE(list, &things[1]);
    LIST_APPEND(other, &things[1]);
    assert_int_equal(digits_of(other), 2);
    assert_int_equal(digits_of(list), 13);
}

static void each_item_may_go(void **state)
{
    (void)state;
    for (unsigned gone = 0; gone < 8; gone++) { /* one bit an item */
        struct thing things[] = {{.number = 1}, {.number = 2}, {.number = 3}};
        struct queue queue = {0};
        int left = 0;
        for (unsigned i = 0; i < ARRAY_LENGTH(things); i++) {
            QUEUE_APPEND(&queue, &things[i]);
            left = gone & 1U << i ? left : left * 10 + things[i].number;
        }
        LIST_EACH (struct thing, thing, queue.first)
            if (gone & 1U << (thing->number - 1))
                QUEUE_REMOVE(&queue, thing);
        assert_int_equal(digits_of(queue.first), left);
        assert_int_equal(queue.last != NULL ? queue.last->number : 0, left % 10);
        struct thing more = {.number = 4};
        QUEUE_APPEND(&queue, &more);
        assert_int_equal(digits_of(queue.first), left * 10 + 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_at_either_end),
        cmocka_unit_test(each_item_may_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
