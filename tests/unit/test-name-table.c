#include "sandbox/base/owned.h"
#include "sandbox/network/broker/name_table.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct address address_of(const char *text)
{
    struct address address;
    assert_true(address_parse(text, &address));
    return address;
}

static void leads_from_addresses_back_to_names(void **state)
{
    (void)state;
    OWNED(name_table_release) struct name_table table = {0};
    const struct address both[] = {address_of("1.1.1.1"), address_of("1.1.1.2")};
    struct name *name = name_table_get(&table, "a.org");
    assert_int_equal(name_table_set(&table, name, both, 2, false), 0);
    assert_int_equal(name->given_count, 2);
    assert_ptr_equal(name_table_find(&table, inet_addr("1.1.1.2")), name);
    assert_null(name_table_find(&table, inet_addr("1.1.1.3")));
    assert_ptr_equal(name_table_get(&table, "a.org"), name);
}

static void gives_a_synthetic_address_for_a_shared_one(void **state)
{
    (void)state;
    OWNED(name_table_release) struct name_table table = {0};
    const struct address shared[] = {address_of("1.1.1.1"), address_of("1.1.1.9")};
    struct name *first = name_table_get(&table, "a.org");
    struct name *second = name_table_get(&table, "b.org");
    struct name *third = name_table_get(&table, "c.org");
    assert_int_equal(name_table_set(&table, first, shared, 1, false), 0);
    assert_int_equal(name_table_set(&table, second, shared, 1, false), 0);
    assert_int_equal(second->given_count, 1);
    assert_int_equal(ntohl(second->given[0]) >> 16, 198 << 8 | 18);
    assert_ptr_equal(name_table_find(&table, second->given[0]), second);
    /* Of several, only those are given that are not another's. */
    assert_int_equal(name_table_set(&table, third, shared, 2, false), 0);
    assert_int_equal(third->given_count, 1);
    assert_int_equal(third->given[0], inet_addr("1.1.1.9"));
}

static void gives_a_synthetic_address_for_ipv6_and_for_names_led_elsewhere(void **state)
{
    (void)state;
    OWNED(name_table_release) struct name_table table = {0};
    const struct address ipv6[] = {address_of("2606:4700::1")};
    struct name *first = name_table_get(&table, "a.org");
    struct name *second = name_table_get(&table, "b.org");
    assert_int_equal(name_table_set(&table, first, ipv6, 1, false), 0);
    assert_int_equal(name_table_set(&table, second, NULL, 0, true), 0);
    assert_int_equal(first->given_count + second->given_count, 2);
    assert_int_not_equal(first->given[0], second->given[0]);
    uint32_t given = first->given[0];
    assert_int_equal(name_table_set(&table, first, ipv6, 1, false), 0);
    assert_int_equal(first->given[0], given);
    assert_int_equal(name_table_set(&table, first, NULL, 0, false), 0);
    assert_int_equal(first->given_count, 0);
}

static void gives_a_synthetic_address_for_the_addresses_of_a_jail(void **state)
{
    (void)state;
    OWNED(name_table_release) struct name_table table = {0};
    static const char *const addresses[] = {"127.0.0.1",   "127.1.2.3",      "0.0.0.0",
                                            "224.0.0.251", "198.18.0.2",     "198.19.0.1",
                                            "198.19.0.2",  "198.18.255.255", "255.255.255.255"};
    for (size_t i = 0; i < ARRAY_LENGTH(addresses); i++) {
        const struct address address = address_of(addresses[i]);
        struct name *name = name_table_get(&table, addresses[i]);
        assert_int_equal(name_table_set(&table, name, &address, 1, false), 0);
        assert_int_equal(name->given_count, 1);
        assert_ptr_equal(name_table_find(&table, name->synthetic), name);
        assert_int_equal(name->given[0], name->synthetic);
    }
}

static void has_a_bound(void **state)
{
    (void)state;
    OWNED(name_table_release) struct name_table table = {0};
    char text[32];
    for (size_t i = 0; i < JAIL_NAMES_MAX; i++) {
        snprintf(text, sizeof(text), "n%zu.org", i);
        assert_non_null(name_table_get(&table, text));
    }
    assert_null(name_table_get(&table, "more.org"));
    assert_non_null(name_table_get(&table, "n7.org"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leads_from_addresses_back_to_names),
        cmocka_unit_test(gives_a_synthetic_address_for_a_shared_one),
        cmocka_unit_test(gives_a_synthetic_address_for_ipv6_and_for_names_led_elsewhere),
        cmocka_unit_test(gives_a_synthetic_address_for_the_addresses_of_a_jail),
        cmocka_unit_test(has_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
