#include "interpreter/languages/language.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct row {
    const char *code; /* without its last newline */
    enum typed typed;
};

/* Whole, open, a block. */
#define W(code) {code, TYPED_WHOLE},
#define O(code) {code, TYPED_OPEN},
#define B(code) {code, TYPED_BLOCK},

static void check(enum typed (*judge)(const char *, size_t), const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char code[256];
        int length = snprintf(code, sizeof(code), "%s\n", rows[i].code);
        if (judge(code, (size_t)length) != rows[i].typed)
            fail_msg("%s is judged %d, not %d", rows[i].code, judge(code, (size_t)length),
                     rows[i].typed);
    }
}

static void python_goes_on_in_brackets_strings_and_blocks(void **state)
{
    (void)state;
    static const struct row rows[] = {
        W("") W("x = 1") W("print('it(')") W("# (") W("x = 'a") W("x[1:2]") W("f'{x!r}'")
            W("x = \"\"\"a\n\nb\"\"\"") W("x = 1 + \\\n2") W("!echo \"(") W("%cd (") W("x = {1: 2}")
                W("x = )") W("s = r'\\''") O("print(") O("x = [1,\n") O("x = '''a\n\n")
                    O("x = \"\"\"a'''") O("x = 1 + \\") O("f(')'") O("x = '''\\'''") B("def f():")
                        B("def f():\n    return 1") B("if x: # (") B("@wraps")
                            B("@wraps(f)\ndef g(): pass") B("%%bash\necho (") B("for i in (1,\n2):")
                                B("class A:\n    x = 1\n\n    y = 2")};
    check(typed_python, rows, ARRAY_LENGTH(rows));
}

static void javascript_goes_on_in_brackets_templates_and_behind_operators(void **state)
{
    (void)state;
    static const struct row rows[] = {
        W("") W("1 + 1") W("'('") W("// (") W("/* ( */ 1") W("/[(/]/.test('a')") W("a / b / c")
            W("x = /\\(/g") W("i++") W("`a\n${f({b: `(`})}`") W("return_ / 2") W("{ a }")
                W("if (a) b") W("function f() {\n  return 1\n}") W("a.if (1)") W("x => x")
                    W("while (a) {}") W("x = )") O("f(") O("{") O("`a\n") O("`a ${b") O("/* a")
                        O("[1,\n\n2") O("function f() {") O("x = /(/.test(") O("if (a) { // }")
                            B("1 +") B("a =") B("a =>") B("if (a)") B("else") B("let") B("a &&")
                                B("a,") B("a ?") B("for (const a of b)\n") B("a.") B("typeof")};
    check(typed_javascript, rows, ARRAY_LENGTH(rows));
}

static void bash_goes_on_in_quotes_compounds_and_here_documents(void **state)
{
    (void)state;
    static const struct row rows[] = {
        W("") W("ls") W("echo '(' \")\" \\(") W("echo if for {") W("# if") W("echo a#\"b\"")
            W("a=$(ls)") W("for i in 1 2; do echo $i; done") W("for i in 1 2\ndo\n\necho\ndone") W(
                "if a; then b; fi") W("f() { ls; }") W("function f {\nls\n}")
                W("case a in\na) ls;;\n(b) ;;\nesac") W("echo $((1<<2))") W("((a < b))") W(
                    "cat <<E\n' (\nE") W("cat <<-'E'\n\tE") W("cat <<<'a'") W("echo $'\\''")
                    W("echo \"$(echo \")\")\"") W("echo `ls`") W("echo ${a:-\"}\"}") W("ls &") W(
                        "a || b") W("a=(1 2\n3)") W("echo }")
                        W("while read a; do if b; then c; fi; done <a") W("cat <<A <<B\na\nA\nb\nB")
                            W("(cd a && ls)") W("ls | # more\nwc") W("find . -exec a {} +")
                                W("echo 2>&1") O("echo '") O("echo \"a\n") O("echo $(") O("if a")
                                    O("if a; then b") O("for i in 1 2") O("f() {") O("function f {")
                                        O("case a in\na) ls;;") O("cat <<E\na") O("cat <<-E\n\ta")
                                            O("ls |") O("a &&") O("a ||\n\n") O("ls \\")
                                                O("echo ${a") O("echo `ls") O("(ls") O("((a")
                                                    O("echo \"$(echo \"") O("a=(1")
                                                        O("while a; do\nif b; then\nfi")};
    check(typed_bash, rows, ARRAY_LENGTH(rows));
}

static void no_code_is_read_beyond_its_end(void **state)
{
    (void)state;
    static const char pieces[] = "'\"`\\$({[#/<!%\n";
    char code[3];
    for (size_t i = 0; i < sizeof(pieces) - 1; i++)
        for (size_t j = 0; j < sizeof(pieces) - 1; j++)
            for (size_t k = 0; k < LANGUAGE_COUNT; k++) {
                code[0] = pieces[i];
                code[1] = pieces[j];
                OWNED_MEMORY char *copy = strndup(code, 2);
                languages[k]->judge_typed(copy, 2);
                languages[k]->judge_typed(copy, 1);
            }
}

static void brackets_beyond_the_maximum_are_not_counted(void **state)
{
    (void)state;
    char code[4 * TYPED_DEPTH_MAX];
    memset(code, '(', sizeof(code));
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        assert_int_equal(languages[i]->judge_typed(code, sizeof(code)), TYPED_OPEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_goes_on_in_brackets_strings_and_blocks),
        cmocka_unit_test(javascript_goes_on_in_brackets_templates_and_behind_operators),
        cmocka_unit_test(bash_goes_on_in_quotes_compounds_and_here_documents),
        cmocka_unit_test(no_code_is_read_beyond_its_end),
        cmocka_unit_test(brackets_beyond_the_maximum_are_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
