#include "interpreter/code_reading.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct subprocess_spec {
    const char *code;
    size_t length; /* 0: of a string */
    bool reads_once;
};

static void what_python_seeks_in_is_not_read_once(void **state)
{
    (void)state;
    static const struct subprocess_spec programs[] = {
        {"", 0, true},
        {"print(1)", 0, true},
        {"#!/usr/bin/python3\n# -*- coding: utf-8 -*-\nprint(1)\n", 0, true},
        {"# coding=UTF_8\n", 0, true},
        {"# coding: utf8\n", 0, false}, /* goes by its own way in CPython's tokenizer */
        {"# coding: utf-8-sig\n", 0, false},
        {"# -*- coding: latin-1 -*-\n", 0, false},
        {"#!/x\r\n# vim: set fileencoding=cp1252 :\r\n", 0, false},
        {"#!/x\r# coding: cp1252\r", 0, false},
        {"# coding: utf-8 coding: cp1252\n", 0, false},
        {"\n\n# coding: cp1252\n", 0, true}, /* too late to be a declaration */
        {"# decoding of messages\nencoding = 'x'\n", 0, true},
        {"# encoding: \n", 0, true},
        {"\xef\xbb\xbf# coding: cp1252\n", 0, false},
        {"a\0# coding: cp1252\n", 20, false},
        {"print(1)\n# PK\5\6 and what follows", 0, false},
        {"print(1)\n\0\0PK\5\6\0\0", 17, false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(programs); i++) {
        const struct subprocess_spec *program = &programs[i];
        size_t length = program->length != 0 ? program->length : strlen(program->code);
        if (code_reading_is_once(program->code, length) != program->reads_once)
            fail_msg("%zu: %s", i, program->code);
    }
}

static void a_program_without_these_words_imports_nothing(void **state)
{
    (void)state;
    static const char *const importing[] = {"import x", "a\nfrom x import y", "__import__('x')",
                                            "exec(open('x').read())", "eval('x')"};
    static const char *const others[] = {"", "print(1)", "impor", "plt.show()"};
    for (size_t i = 0; i < ARRAY_LENGTH(importing); i++)
        assert_true(code_reading_may_import(importing[i], strlen(importing[i])));
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        assert_false(code_reading_may_import(others[i], strlen(others[i])));
    assert_true(code_reading_may_import("a\0import b", 10));
    assert_false(code_reading_may_import("import", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_python_seeks_in_is_not_read_once),
        cmocka_unit_test(a_program_without_these_words_imports_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
