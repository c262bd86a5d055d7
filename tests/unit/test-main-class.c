#include "interpreter/languages/main_class.h"

#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAIN "public static void main(String[] a) {}"

struct sample {
    const char *code, *file, *main;
};

/* The code has no NUL behind it. */
static struct main_class find(const char *code)
{
    size_t length = strlen(code);
    OWNED_MEMORY char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, code, length);
    return main_class_find(copy, length);
}

static void check_all(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct main_class found = find(samples[i].code);
        if (strcmp(found.file, samples[i].file) != 0 || strcmp(found.main, samples[i].main) != 0)
            fail_msg("%s: file %s, main %s", samples[i].code, found.file, found.main);
    }
}

#define CHECK_ALL(samples) check_all(samples, ARRAY_LENGTH(samples))

static void a_program_without_a_class_is_called_main(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"", "Main", "Main"},
        {"\n\n", "Main", "Main"},
        {"void main() {}", "Main", "Main"},
        {"class", "Main", "Main"},
        {"class {}", "Main", "Main"},
        {"package a;", "Main", "a.Main"},
        {"// class A {}", "Main", "Main"},
        {"/* class A {}", "Main", "Main"},
        {"\"class A {}", "Main", "Main"},
        {"\"\"\"class A {}", "Main", "Main"},
        {"'", "Main", "Main"},
        {"'\\", "Main", "Main"},
        {"}}}} class A {}", "A", "A"},
    };
    CHECK_ALL(samples);
}

static void the_file_is_named_after_the_public_class(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"public class A { " MAIN " }", "A", "A"},
        {"class A {} public class B { " MAIN " }", "B", "B"},
        {"class A { " MAIN " } public class B {}", "B", "A"},
        {"public class A {} public class B { " MAIN " }", "A", "B"},
        {"public final strictfp class A {}", "A", "A"},
        {"public abstract sealed class A permits B {} final class B extends A {}", "A", "A"},
        {"public\nclass\nA\n{}", "A", "A"},
        {"public/**/class/**/A{}", "A", "A"},
        {"class A {} public interface B {}", "B", "B"},
        {"class A {} public enum B { X, Y }", "B", "B"},
        {"class A {} public @interface B {}", "B", "B"},
        {"class A {} public record B(int x, int y) {}", "B", "B"},
        {"class $_1 {} public class a$b_2 {}", "a$b_2", "a$b_2"},
        {"import java.util.*; public class A<T extends B> implements C<T> {}", "A", "A"},
        {"public class A {} class public {}", "A", "A"},
    };
    CHECK_ALL(samples);
}

static void without_a_public_class_the_first_with_main_counts(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"class A {} class B { " MAIN " }", "B", "B"},
        {"class A {} class B {}", "A", "A"},
        {"class A { " MAIN " } class B { " MAIN " }", "A", "A"},
        {"interface A {} enum B { X; " MAIN " }", "B", "B"},
        {"record A(int main) {} class B { static void main\t\n(String... a) {} }", "B", "B"},
        {"class A { int main; } class B { " MAIN " }", "B", "B"},
        {"class A { void f() { main(x); B.main(y); } } class B { " MAIN " }", "B", "B"},
        {"class A { class Inner { " MAIN " } } class B { " MAIN " }", "B", "B"},
        {"class A { void mains() {} } class B { void xmain() {} } class C { " MAIN " }", "C", "C"},
    };
    CHECK_ALL(samples);
}

static void the_main_class_has_its_package(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"package a; class A { " MAIN " }", "A", "a.A"},
        {"package a.b.c_1; public class A {} class B { " MAIN " }", "A", "a.b.c_1.B"},
        {"/* package x; */ package\n a.b;\nclass A {}", "A", "a.b.A"},
        {"class A { } // package a;", "A", "A"},
        {"package ; class A {}", "A", "A"},
    };
    CHECK_ALL(samples);
}

static void comments_and_strings_declare_nothing(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"// public class X {}\nclass A {}", "A", "A"},
        {"/* public class X {} */ class A {}", "A", "A"},
        {"/** class X { */ class A {}", "A", "A"},
        {"//\nclass A { String s = \"}} public class X {\"; " MAIN " }", "A", "A"},
        {"class A { String s = \"\\\"}\"; " MAIN " } class B {}", "A", "A"},
        {"class A { String s = \"//\"; } class B { " MAIN " }", "B", "B"},
        {"class A { String s = \"\"\"\n } public class X { \" ' \n\"\"\"; } class B { " MAIN " }",
         "B", "B"},
        {"class A { String s = \"\"; } class B { " MAIN " }", "B", "B"},
        {"class A { char c = '{'; char d = '\"'; char e = '\\''; char f = '\\\\', g = '\\\"'; } public class B {}",
         "B", "B"},
        {"class A { char c = '\\u007b', d = '\xc3\xa9', e = '{', f = '\xe2\x82\xac'; } public class B "
         "{}",
         "B", "B"},
        {"class A { int x = 4 / 2; } public class B {}", "B", "B"},
    };
    CHECK_ALL(samples);
}

static void annotations_and_names_of_packages_declare_nothing(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"@RunWith(X.class) public class A {}", "A", "A"},
        {"@RunWith(X.class) class A { " MAIN " }", "A", "A"},
        {"@Uses({X.class, Y.class}) @Named(value = \"class Z\") class A {} public class B {}", "B",
         "B"},
        {"public @Uses({1, 2}) class A {} class B { " MAIN " }", "A", "B"},
        {"import a.record.B;\nimport a.object.C;\npublic class A {}", "A", "A"},
        {"import a.record\nimport a.object\nclass A {}", "A", "A"},
        {"public record A(@X({1}) int x, Y[] y) { }", "A", "A"},
        {"@X(y = (1 + 2)) public class A {}", "A", "A"},
        {"record A(App app) {} class B { " MAIN " }", "B", "B"},
    };
    CHECK_ALL(samples);
}

static void objects_of_scala_start(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"object A { def main(args: Array[String]): Unit = {} }", "A", "A"},
        {"object A extends App { println(1) }", "A", "A"},
        {"class A(x: Int)\nobject B extends C with App {}", "B", "B"},
        {"case class P(x: Int)\ncase object Q\nobject B extends App", "B", "B"},
        {"package a.b\nobject B extends App { val s = 'symbol; val c = '{' }", "B", "a.b.B"},
        {"class A\nobject A { def main(args: Array[String]) {} }", "A", "A"},
        {"object A { val s = \"\"\"object X extends App { \"\"\" }\nobject B extends App", "B",
         "B"},
        {"object A { def f = 'x }\nobject B extends App", "B", "B"},
        {"object App { def main(args: Array[String]) {} }", "App", "App"},
    };
    CHECK_ALL(samples);
}

static void letters_beyond_ascii_are_of_the_name(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        {"public class Caf\xc3\xa9 {}", "Caf\xc3\xa9", "Caf\xc3\xa9"},
        {"package \xc3\xa9t\xc3\xa9; class \xc3\x89 {}", "\xc3\x89", "\xc3\xa9t\xc3\xa9.\xc3\x89"},
    };
    CHECK_ALL(samples);
}

/* Of letters only; NUL ends it. */
static char *repeat(size_t count)
{
    char *text = malloc(count + 1);
    assert_non_null(text);
    memset(text, 'x', count);
    text[count] = '\0';
    return text;
}

static void names_as_long_as_there_is_room_are_whole(void **state)
{
    (void)state;
    OWNED_MEMORY char *name = repeat(CLASS_NAME_SIZE - 1), *code = NULL, *both = NULL;
    assert_true(asprintf(&code, "package %s; class %s {}", name, name) > 0);
    assert_true(asprintf(&both, "%s.%s", name, name) > 0);
    const struct main_class found = find(code);
    assert_string_equal(found.file, name);
    assert_string_equal(found.main, both);
}

static void longer_names_are_none(void **state)
{
    (void)state;
    static const size_t lengths[] = {CLASS_NAME_SIZE, 200, 100000};
    for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
        OWNED_MEMORY char *name = repeat(lengths[i]), *code = NULL, *other = NULL;
        assert_true(asprintf(&code, "package %s; public class %s { " MAIN " }", name, name) > 0);
        assert_true(asprintf(&other, "%s class B { " MAIN " }", code) > 0);
        assert_string_equal(find(code).file, "Main");
        assert_string_equal(find(code).main, "Main");
        assert_string_equal(find(other).main, "B");
    }
}

static void bytes_that_are_no_text_end_nothing(void **state)
{
    (void)state;
    static const char code[] = "\0class\0A {}\0class B{}";
    const struct main_class found = main_class_find(code, sizeof(code) - 1);
    assert_string_equal(found.file, "B");
    assert_string_equal(main_class_find(NULL, 0).file, "Main");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_without_a_class_is_called_main),
        cmocka_unit_test(the_file_is_named_after_the_public_class),
        cmocka_unit_test(without_a_public_class_the_first_with_main_counts),
        cmocka_unit_test(the_main_class_has_its_package),
        cmocka_unit_test(comments_and_strings_declare_nothing),
        cmocka_unit_test(annotations_and_names_of_packages_declare_nothing),
        cmocka_unit_test(objects_of_scala_start),
        cmocka_unit_test(letters_beyond_ascii_are_of_the_name),
        cmocka_unit_test(names_as_long_as_there_is_room_are_whole),
        cmocka_unit_test(longer_names_are_none),
        cmocka_unit_test(bytes_that_are_no_text_end_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
