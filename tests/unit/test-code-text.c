#include "interpreter/code_text.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct pair {
    const char *given, *meant; /* NULL: the same */
};

static void fences_are_left_out(void **state)
{
    (void)state;
    static const struct pair table[] = {
        {"```python\nprint(1)\n```", "print(1)\n"},
        {"```\nls\n```\n\n", "ls\n"},
        {"\n \n~~~js\r\nf()\r\n~~~ \r\n", "f()\r\n"},
        {"  ```bash\necho 1\n\n  ```", "echo 1\n\n"},
        {"````python\nx = '''\n````", "x = '''\n"},
        {"``` {.python}\nx\n```", "x\n"},
        {"```c++\nx\n```", "x\n"},
        {"```\n```", ""},
        {"\xef\xbb\xbf"
         "ls",
         "ls"},
        {"\xef\xbb\xbf```bash\nls\n```", "ls\n"},
        /* What else has them is no wrapping. */
        {"", NULL},
        {"```", NULL},
        {"print(1)", NULL},
        {"``\nls\n``", NULL},
        {"`ls`", NULL},
        {"```python\nprint(1)\n", NULL},
        {"print('''\n```\n''')", NULL},
        {"x = `\n```\ny\n```\n`", NULL},
        {"```\na\n```\nb\n```\nc\n```", NULL},
        {"```python\nx\n````", NULL},
        {"```a$(b)\nx\n```", NULL},
        {"```x``` \ny\n```", NULL},
        {"~~~\nx\n```", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        const char *meant = table[i].meant != NULL ? table[i].meant : table[i].given;
        struct code_text text =
            code_text_unfence((struct code_text){table[i].given, strlen(table[i].given)});
        assert_int_equal(text.length, strlen(meant));
        assert_memory_equal(text.bytes, meant, text.length);
    }
}

static void the_indentation_of_a_first_statement_is_left_out(void **state)
{
    (void)state;
    static const struct pair table[] = {
        {"  x = 1\n  x", "x = 1\nx"},
        {"\tfor i in 1, 2:\n\t\tprint(i)\n", "for i in 1, 2:\n\tprint(i)\n"},
        {"\n    # why\n\n    x = 1\n\n    y = 2\n", "\n# why\n\nx = 1\n\ny = 2\n"},
        {"    x = '''\na\n    b'''\n    x", "x = '''\na\nb'''\nx"},
        {"  def f():\r\n    return 1\r\n  f()\r\n", "def f():\r\n  return 1\r\nf()\r\n"},
        {"  # a\n  x\n y\n", "# a\nx\n y\n"},
        {"   x", "x"},
        /* One that is not indented, or has no statement, stays. */
        {"", NULL},
        {"\n\n", NULL},
        {"x = 1\n  y", NULL},
        {"  # only this\n", NULL},
        {"  # this\nx = 1", NULL},
        {"if x:\n  y\n", NULL},
        {"\f  x", NULL},
        {"   \n\t\n", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        const char *meant = table[i].meant != NULL ? table[i].meant : table[i].given;
        struct code_text text = {table[i].given, strlen(table[i].given)};
        OWNED_MEMORY char *owned = NULL;
        assert_int_equal(code_text_dedent(&text, &owned), 0);
        assert_int_equal(text.length, strlen(meant));
        assert_memory_equal(text.bytes, meant, text.length);
        assert_true((owned != NULL) == (table[i].meant != NULL));
    }
}

static void line_ends_of_windows_are_left_out_of_bash(void **state)
{
    (void)state;
    static const struct pair table[] = {
        {"ls\r\n", "ls\n"},
        {"if true; then\r\n  ls\r\nfi\r", "if true; then\n  ls\nfi"},
        {"\r\n\r\nls", "\n\nls"},
        {"printf 'a\rb'\r\n", "printf 'a\rb'\n"},
        /* One line with another end: they may be meant. */
        {"", NULL},
        {"ls", NULL},
        {"ls\r", NULL},
        {"ls\n", NULL},
        {"cat <<E\r\nx\nE\r\n", NULL},
        {"\nls\r\n", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        const char *meant = table[i].meant != NULL ? table[i].meant : table[i].given;
        struct code_text text = {table[i].given, strlen(table[i].given)};
        OWNED_MEMORY char *owned = NULL;
        assert_int_equal(code_text_end_lines(&text, &owned), 0);
        assert_int_equal(text.length, strlen(meant));
        assert_memory_equal(text.bytes, meant, text.length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_are_left_out),
        cmocka_unit_test(the_indentation_of_a_first_statement_is_left_out),
        cmocka_unit_test(line_ends_of_windows_are_left_out_of_bash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
