"""Languages of the compilers of GNU: C, C++ and Fortran."""

from .common import MEGABYTE, WORDS, Program, endless, exits, fails, greedy, is_refused, killed, letters, much, reads, stdin, words, writes

C_HEADERS = ("assert", "ctype", "errno", "inttypes", "locale", "math", "pthread", "signal", "stdbool", "stdio", "stdlib", "string",
             "sys/wait", "time", "unistd", "wchar")


def c(body, above=""):
    headers = "".join(f"#include <{name}.h>\n" for name in C_HEADERS)
    return f"{headers}\n{above}int main(void)\n{{\n{body}\n}}\n"


def cpp(body, above=""):
    return f"#include <bits/stdc++.h>\n#include <unistd.h>\nusing namespace std;\n\n{above}int main()\n{{\n{body}\n}}\n"


def fortran(body, names="", below=""):
    lines = "\n".join("  " + line for line in (f"implicit none\n{names}\n{body}").splitlines())
    return f"program test\n  use, intrinsic :: iso_fortran_env\n{lines}\n{below}end program\n"


THREAD = """static void *square(void *number)
{
    return (void *)((intptr_t)number * (intptr_t)number);
}

"""

PROGRAMS = {
    "c": {
        "hello": Program(c('puts("hello");'), "hello\n"),
        "stdin": stdin(c(r"int lines = 0; for (int c; (c = getchar()) != EOF;) lines += c == '\n'; printf(" + r'"%d\n", lines);')),
        "unicode": words(c(f'puts("{WORDS}");')),
        "unicode of stdin": letters(c(r'setlocale(LC_ALL, ""); int n = 0; while (getwchar() != WEOF) n++; printf("%d\n", n);')),
        "exit code": exits(c("return 3;")),
        "error": fails(c(r'fprintf(stderr, "no good\n"); exit(EXIT_FAILURE);'), "no good"),
        "an assertion": killed(c("int x = 1; assert(x == 2);"), "SIGABRT", "main.c", "`x == 2' failed"),
        "a null pointer": killed(c(r'volatile int *volatile p = NULL; printf("%d\n", *p);'), "SIGSEGV"),
        "syntax error": is_refused("int main(void)\n{\n    return 0\n}\n", "main.c:3", "expected ‘;’"),
        "error of a line": is_refused("int main(void)\n{\n    return missing;\n}\n", "main.c:3", "‘missing’ undeclared"),
        "error of the linker": is_refused("void missing(void);\nint main(void)\n{\n    missing();\n}\n", "undefined reference to `missing'"),
        "a warning": Program("#include <stdio.h>\nint main(void)\n{\n    char c = 305;\n    putchar(c);\n    putchar('\\n');\n}\n", "1\n", warns="main.c:4"),
        "reads a file": reads(c('FILE *f = fopen("data/in.txt", "r"); for (int c; (c = getc(f)) != EOF;) putchar(c);')),
        "writes a file": writes(c('FILE *f = fopen("out.txt", "w"); fputs("x", f); fclose(f); char text[9];\n'
                                  'f = fopen("out.txt", "r"); puts(fgets(text, sizeof(text), f));')),
        "much output": much(c(f"for (int i = 0; i < {MEGABYTE}; i++) putchar('x');")),
        "endless": endless(c("for (volatile int i = 0;; i++);")),
        "greedy": greedy(c("for (;;) memset(malloc(1000000), 1, 1000000);")),
        "killed": killed(c("raise(SIGKILL);")),
        "threads": Program(c("pthread_t all[4]; for (intptr_t i = 0; i < 4; i++) pthread_create(&all[i], NULL, square, (void *)i);\n"
                             "intptr_t sum = 0; for (int i = 0; i < 4; i++) { void *one; pthread_join(all[i], &one); sum += (intptr_t)one; }\n"
                             r'printf("%ld\n", (long)sum);', THREAD), "14\n"),
        "a child": Program(c('FILE *f = popen("echo inside", "r"); char text[9]; fputs(fgets(text, sizeof(text), f), stdout); pclose(f);'), "inside\n"),
        "a fork": Program(c(r'int status; if (fork() == 0) _exit(7); wait(&status); printf("%d\n", WEXITSTATUS(status));'), "7\n"),
        "libraries": Program(c(r'volatile double two = 2; printf("%.3f %.3f\n", sqrt(two), pow(two, 0.5));'), "1.414 1.414\n"),
    },
    "cpp": {
        "hello": Program(cpp(r'cout << "hello\n";'), "hello\n"),
        "stdin": stdin(cpp(r'string line; int n = 0; while (getline(cin, line)) n++; cout << n << "\n";')),
        "unicode": words(cpp(rf'cout << "{WORDS}\n";')),
        "unicode of stdin": letters(cpp(r'setlocale(LC_ALL, ""); int n = 0; while (getwchar() != WEOF) n++; cout << n << endl;')),
        "exit code": exits(cpp("return 3;")),
        "error": killed(cpp('throw runtime_error("no good");'), "SIGABRT", "std::runtime_error", "no good"),
        "an error caught": Program(cpp(r'try { (void)vector<int>().at(1); } catch (const out_of_range &) { cout << "caught\n"; }'), "caught\n"),
        "an assertion": killed(cpp("int x = 1; assert(x == 2);"), "SIGABRT", "main.cpp", "`x == 2' failed"),
        "syntax error": is_refused("int main()\n{\n    return 0\n}\n", "main.cpp:3", "expected ‘;’"),
        "error of a line": is_refused("int main()\n{\n    return missing;\n}\n", "main.cpp:3", "‘missing’ was not declared"),
        "error of a template": is_refused(cpp("vector<mutex> all; sort(all.begin(), all.end());"), "main.cpp:7", "error:"),
        "a warning": Program("#include <iostream>\nint main()\n{\n    char c = 305;\n    std::cout << c << '\\n';\n}\n", "1\n", warns="main.cpp:4"),
        "reads a file": reads(cpp('cout << ifstream("data/in.txt").rdbuf();')),
        "writes a file": writes(cpp(r'ofstream("out.txt") << "x"; string s; ifstream("out.txt") >> s; cout << s << "\n";')),
        "much output": much(cpp(f"for (int i = 0; i < {MEGABYTE}; i++) cout << 'x';")),
        "endless": endless(cpp("for (;;) getppid();")),
        "greedy": greedy(cpp("list<string> all; for (;;) all.emplace_back(1000000, 'x');")),
        "killed": killed(cpp("raise(SIGKILL);")),
        "threads": Program(cpp("vector<future<int>> all; for (int i = 0; i < 4; i++) all.push_back(async(launch::async, [i] { return i * i; }));\n"
                               r'int sum = 0; for (auto &one : all) sum += one.get(); cout << sum << "\n";'), "14\n"),
        "a child": Program(cpp('return system("echo inside");'), "inside\n"),
        "libraries": Program(cpp(r'map<string, vector<int>> m{{"a", {3, 1, 2}}}; ranges::sort(m["a"]); '
                                 r'for (auto i : m["a"] | views::reverse) cout << i; cout << regex_replace("aXb", regex("X"), "-") << "\n";'),
                             "321a-b\n"),
        "wide integers": Program(cpp(r'__int128 x = (__int128)1 << 100; cout << (long long)(x >> 90) << "\n";'), "1024\n"),
    },
    "fortran": {
        "hello": Program(fortran("print '(a)', 'hello'"), "hello\n"),
        "stdin": stdin(fortran("n = 0\ndo\n  read (*, '(a)', iostat=status) line\n  if (status /= 0) exit\n  n = n + 1\nend do\nprint '(i0)', n",
                               "character(80) :: line\ninteger :: n, status")),
        "unicode": words(fortran(f"print '(a)', '{WORDS}'")),
        "bytes of stdin": Program(fortran("read (*, '(a)') line\nprint '(i0)', len_trim(line)", "character(80) :: line"), "19\n", stdin=WORDS),
        "exit code": exits(fortran("call exit(3)")),
        "a code of stop": exits(fortran("stop 3, quiet=.true.")),
        "error": fails(fortran("error stop 'no good'"), "no good"),
        "error of a line": fails(fortran("open (newunit=unit, file='missing.txt', status='old')", "integer :: unit"),
                                 "line 5 of file main.f90", "missing.txt"),
        "syntax error": is_refused("program test\n  print *, (\nend program\n", "main.f90:2", "Syntax error"),
        "error of a name": is_refused("program test\n  implicit none\n  missing = 1\nend program\n", "main.f90:3", "‘missing’"),
        "reads a file": reads(fortran("open (newunit=unit, file='data/in.txt', status='old')\nread (unit, '(a)') line\nprint '(a)', trim(line)",
                                      "character(80) :: line\ninteger :: unit")),
        "writes a file": writes(fortran("open (newunit=unit, file='out.txt')\nwrite (unit, '(a)') 'x'\nrewind (unit)\nread (unit, '(a)') line\n"
                                        "print '(a)', trim(line)", "character(80) :: line\ninteger :: unit")),
        "much output": much(fortran(f"write (*, '(a)', advance='no') repeat('x', {MEGABYTE})")),
        "endless": endless(fortran("n = 0\ndo\n  n = n + 1\nend do", "integer, volatile :: n")),
        "greedy": greedy(fortran("allocate (all(10**9))\nall = 1\nprint *, all(5)", "integer, allocatable, volatile :: all(:)")),
        "killed": killed(fortran("call kill(getpid(), 9)\ncall sleep(9)")),
        "a child": Program(fortran("call execute_command_line('echo inside')"), "inside\n"),
        "libraries": Program(fortran("a = reshape([1d0, 2d0, 3d0, 4d0], [2, 2])\nprint '(f0.1, 1x, f0.1)', sum(matmul(a, a)), norm2(a(1, :))",
                                     "real(real64) :: a(2, 2)"), "54.0 3.2\n"),
        "procedures": Program(fortran("print '(i0)', cube(3)", "", "contains\n  pure integer function cube(n)\n    integer, intent(in) :: n\n"
                                      "    cube = n**3\n  end function\n"), "27\n"),
    },
}
