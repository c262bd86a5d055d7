"""Programs in each language that is data, and what comes of them: what people write first, and what goes wrong.

A language leaves out what it cannot do.
"""

from typing import NamedTuple

WORDS = "größe 漢字 🎉"
MEGABYTE = 1_000_000  # bytes


class Program(NamedTuple):
    """`shows` is all of stdout, or a function that judges it; `fails`: text in stderr, and an exit code that is not 0."""
    code: str
    shows: object = ""
    stdin: str = ""
    files: dict = {}
    outcome: str = "exited"
    code_of_exit: int = 0
    fails: str = ""
    timeout: int = 20


def stdin(code):
    return Program(code, "3\n", stdin="a\nb\nc\n")


def words(code):
    return Program(code, f"{WORDS}\n")


def reads(code):
    return Program(code, "from a file\n", files={"data/in.txt": "from a file\n"})


def writes(code):
    return Program(code, "x\n")


def much(code):
    return Program(code, lambda text: len(text) == MEGABYTE)


def endless(code):
    return Program(code, outcome="timed_out", timeout=2)


def greedy(code):
    return Program(code, outcome="out_of_memory")


def killed(code):
    return Program(code, outcome="signaled")


def exits(code, status=3):
    return Program(code, "", code_of_exit=status)


def fails(code, text):
    return Program(code, fails=text)


PROGRAMS = {
    "ruby": {
        "hello": Program("puts 'hello'", "hello\n"),
        "stdin": stdin("puts STDIN.readlines.size"),
        "unicode": words(f"puts '{WORDS}'"),
        "unicode of stdin": Program("puts STDIN.read.length", "10\n", stdin=WORDS),
        "exit code": exits("exit 3"),
        "error": fails("raise 'no good'", "no good"),
        "syntax error": fails("def f(\n", "syntax error"),
        "error of a line": fails("x = 1\ny = nil + x\n", "main.rb:2"),
        "reads a file": reads("print File.read('data/in.txt')"),
        "writes a file": writes("File.write('out.txt', 'x')\nputs File.read('out.txt')"),
        "much output": much(f"print 'x' * {MEGABYTE}"),
        "endless": endless("loop {}"),
        "greedy": greedy("a = []\nloop { a << 'x' * 1_000_000 }"),
        "killed": killed("Process.kill('KILL', $$)\nsleep"),
        "threads": Program("puts 4.times.map { |i| Thread.new { i * i } }.map(&:value).sum", "14\n"),
        "a child": Program("puts `echo inside`", "inside\n"),
        "libraries": Program("require 'json'\nrequire 'set'\nputs JSON.generate([1, nil])", "[1,null]\n"),
    },
    "php": {
        "hello": Program("<?php echo \"hello\\n\";", "hello\n"),
        "stdin": stdin("<?php echo count(file('php://stdin')), \"\\n\";"),
        "unicode": words(f"<?php echo '{WORDS}', \"\\n\";"),
        "unicode of stdin": Program("<?php echo mb_strlen(file_get_contents('php://stdin')), \"\\n\";", "10\n", stdin=WORDS),
        "exit code": exits("<?php exit(3);"),
        "error": fails("<?php throw new Exception('no good');", "no good"),
        "syntax error": fails("<?php if (", "Parse error"),
        "error of a line": fails("<?php\nintdiv(1, 0);\n", "main.php:2"),
        "reads a file": reads("<?php readfile('data/in.txt');"),
        "writes a file": writes("<?php file_put_contents('out.txt', \"x\\n\"); readfile('out.txt');"),
        "much output": much(f"<?php echo str_repeat('x', {MEGABYTE});"),
        "endless": endless("<?php while (true);"),
        "greedy": greedy("<?php $a = []; while (true) $a[] = str_repeat('x', 1000000);"),
        "killed": killed("<?php posix_kill(getmypid(), 9); sleep(9);"),
        "a child": Program("<?php echo shell_exec('echo inside');", "inside\n"),
        "libraries": Program("<?php echo bcadd('1.5', '2', 1), json_encode([1, null]), gmp_strval(gmp_pow(2, 70)), \"\\n\";",
                             "3.5[1,null]1180591620717411303424\n"),
        "no tag": Program("echo 1;\n", "echo 1;\n"),
    },
    "perl": {
        "hello": Program("print \"hello\\n\";", "hello\n"),
        "stdin": stdin("my @l = <STDIN>; print scalar(@l), \"\\n\";"),
        "unicode": words(f"print \"{WORDS}\\n\";"),
        "unicode of stdin": Program("use open qw(:std :utf8); local $/; my $t = <STDIN>; print length($t), \"\\n\";", "10\n", stdin=WORDS),
        "exit code": exits("exit 3;"),
        "error": fails("die \"no good\\n\";", "no good"),
        "syntax error": fails("if (", "syntax error"),
        "error of a line": fails("my $x = 1;\nmy $y = $x / 0;\n", "main.pl line 2"),
        "reads a file": reads("open my $f, '<', 'data/in.txt' or die; print <$f>;"),
        "writes a file": writes("open my $f, '>', 'out.txt' or die; print $f \"x\\n\"; close $f; open $f, '<', 'out.txt' or die; print <$f>;"),
        "much output": much(f"print 'x' x {MEGABYTE};"),
        "endless": endless("1 while 1;"),
        "greedy": greedy("my @a; push @a, 'x' x 1000000 while 1;"),
        "killed": killed("kill 9, $$; sleep 9;"),
        "threads": Program("use threads; my $t = threads->create(sub { 14 }); print $t->join, \"\\n\";", "14\n"),
        "a child": Program("print `echo inside`;", "inside\n"),
        "libraries": Program("use JSON::PP; use Test::Deep; use List::Util 'sum'; print encode_json([1, undef]), sum(1, 2), \"\\n\";", "[1,null]3\n"),
    },
    "lua": {
        "hello": Program("print('hello')", "hello\n"),
        "stdin": stdin("local n = 0\nfor _ in io.lines() do n = n + 1 end\nprint(n)"),
        "unicode": words(f"print('{WORDS}')"),
        "unicode of stdin": Program("print(utf8.len(io.read('a')))", "10\n", stdin=WORDS),
        "exit code": exits("os.exit(3)"),
        "error": fails("error('no good')", "no good"),
        "syntax error": fails("if (", "unexpected symbol"),
        "error of a line": fails("local x = 1\nlocal y = x + nil\n", "main.lua:2"),
        "reads a file": reads("io.write(io.open('data/in.txt'):read('a'))"),
        "writes a file": writes("io.open('out.txt', 'w'):write('x'):close()\nprint(io.open('out.txt'):read('a'))"),
        "much output": much(f"io.write(('x'):rep({MEGABYTE}))"),
        "endless": endless("while true do end"),
        "greedy": greedy("local a = {}\nwhile true do a[#a + 1] = ('x'):rep(1000000) .. #a end"),
        "killed": killed("os.execute('kill -9 $PPID')"),
        "a child": Program("io.write(io.popen('echo inside'):read('a'))", "inside\n"),
        "libraries": Program("local lu = require('luaunit')\nlu.assertEquals(1, 1)\nprint('right')", "right\n"),
    },
    "racket": {
        "hello": Program("#lang racket/base\n(displayln \"hello\")", "hello\n"),
        "stdin": stdin("#lang racket\n(displayln (length (port->lines)))"),
        "unicode": words(f"#lang racket/base\n(displayln \"{WORDS}\")"),
        "unicode of stdin": Program("#lang racket\n(displayln (string-length (port->string)))", "10\n", stdin=WORDS),
        "exit code": exits("#lang racket/base\n(exit 3)"),
        "error": fails("#lang racket/base\n(error \"no good\")", "no good"),
        "syntax error": fails("#lang racket/base\n(display", "expected a `)`"),
        "error of a line": fails("#lang racket/base\n(define x 1)\n(car x)\n", "car: contract violation"),
        "reads a file": reads("#lang racket\n(display (file->string \"data/in.txt\"))"),
        "writes a file": writes("#lang racket\n(display-to-file \"x\" \"out.txt\")\n(displayln (file->string \"out.txt\"))"),
        "much output": much(f"#lang racket/base\n(display (make-string {MEGABYTE} #\\x))"),
        "endless": endless("#lang racket/base\n(let loop () (loop))"),
        "greedy": greedy("#lang racket/base\n(let loop ([a '()]) (loop (cons (make-bytes 1000000 1) a)))"),
        "threads": Program("#lang racket\n(define c (make-channel))\n(void (thread (lambda () (channel-put c 14))))\n(displayln (channel-get c))", "14\n"),
        "a child": Program("#lang racket\n(system \"echo inside\")\n(void)", lambda text: text.startswith("inside\n")),
        "libraries": Program("#lang racket\n(require json)\n(displayln (jsexpr->string (list 1 'null)))", lambda text: text.startswith("[1,")),
    },
    "sql": {
        "hello": Program("SELECT 'hello';", "hello\n"),
        "stdin": Program("CREATE TABLE t(a);", "7\n", stdin="INSERT INTO t VALUES (3), (4); SELECT sum(a) FROM t;"),
        "unicode": words(f"SELECT '{WORDS}';"),
        "error": fails("SELECT 1;\nSELECT * FROM missing;\nSELECT 2;", "no such table: missing"),
        "syntax error": fails("SELEC 1;", "syntax error"),
        "columns": Program("SELECT 1, 'a', NULL, 2.5;", "1|a||2.5\n"),
        "reads a file": Program("SELECT CAST(readfile('data/in.txt') AS TEXT);", "from a file\n\n", files={"data/in.txt": "from a file\n"}),
        "writes a file": Program("SELECT writefile('out.txt', 'x') > 0, readfile('out.txt');", "1|x\n"),
        "much output": Program(f"SELECT hex(zeroblob({MEGABYTE // 2}));", lambda text: len(text) == MEGABYTE + 1),
        "endless": endless("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;"),
        "transactions": Program("CREATE TABLE t(a UNIQUE); BEGIN; INSERT INTO t VALUES (1); ROLLBACK; SELECT count(*) FROM t;", "0\n"),
        "windows": Program("SELECT column1, sum(column1) OVER (ORDER BY column1) FROM (VALUES (1), (2));", "1|1\n2|3\n"),
        "json": Program("SELECT json_extract('{\"a\": [1, 2]}', '$.a[1]');", "2\n"),
        "text search": Program("CREATE VIRTUAL TABLE d USING fts5(t); INSERT INTO d VALUES ('a fox'), ('a dog'); "
                               "SELECT t FROM d WHERE d MATCH 'fox';", "a fox\n"),
        "a shell": Program(".shell echo inside", "inside\n"),
    },
}
