"""Languages with compilers and runtimes of their own, that make programs of the machine: Go, Rust and D."""

from .common import MEGABYTE, WORDS, Program, endless, exits, fails, greedy, is_refused, killed, letters, much, reads, stdin, words, writes


def go(body, *imports, above=""):
    listed = "".join(f'\t"{name}"\n' for name in ("fmt", *imports))
    return f"package main\n\nimport (\n{listed})\n\n{above}func main() {{\n{body}\n}}\n"


def rust(body, above=""):
    return f"{above}fn main() {{\n{body}\n}}\n"


def d(body, *imports):
    return f"import {', '.join(('std.stdio', *imports))};\n\nvoid main()\n{{\n{body}\n}}\n"


PROGRAMS = {
    "go": {
        "hello": Program(go('fmt.Println("hello")'), "hello\n"),
        "stdin": stdin(go("n := 0\nfor lines := bufio.NewScanner(os.Stdin); lines.Scan(); {\n\tn++\n}\nfmt.Println(n)", "bufio", "os")),
        "unicode": words(go(f'fmt.Println("{WORDS}")')),
        "unicode of stdin": letters(go("text, _ := io.ReadAll(os.Stdin)\nfmt.Println(utf8.RuneCount(text))", "io", "os", "unicode/utf8")),
        "exit code": exits("package main\n\nimport \"os\"\n\nfunc main() {\n\tos.Exit(3)\n}\n"),
        "error": fails("package main\n\nfunc main() {\n\tpanic(\"no good\")\n}\n", "panic: no good", "main.go:4"),
        "error of a line": fails("package main\n\nfunc main() {\n\tvar all []int\n\tall[0] = 1\n}\n", "index out of range [0]", "main.go:5"),
        "a deadlock": fails("package main\n\nfunc main() {\n\t<-make(chan int)\n}\n", "all goroutines are asleep"),
        "syntax error": is_refused("package main\n\nfunc main() {\n\tx := (\n}\n", "main.go:5", "syntax error"),
        "error of a name": is_refused("package main\n\nfunc main() {\n\tmissing()\n}\n", "main.go:4", "undefined: missing"),
        "an unused import": is_refused("package main\n\nimport \"os\"\n\nfunc main() {\n}\n", "main.go:3", '"os" imported and not used'),
        "a module that is not there": is_refused('package main\n\nimport _ "example.com/missing"\n\nfunc main() {\n}\n',
                                                 "main.go:3", "example.com/missing"),
        "reads a file": reads(go('text, err := os.ReadFile("data/in.txt")\nif err != nil {\n\tpanic(err)\n}\nfmt.Print(string(text))', "os")),
        "writes a file": writes(go('if err := os.WriteFile("out.txt", []byte("x"), 0o644); err != nil {\n\tpanic(err)\n}\n'
                                   'text, _ := os.ReadFile("out.txt")\nfmt.Println(string(text))', "os")),
        "much output": much(go(f'fmt.Print(strings.Repeat("x", {MEGABYTE}))', "strings")),
        "endless": endless("package main\n\nfunc main() {\n\tfor {\n\t}\n}\n"),
        "greedy": greedy(go("var all [][]byte\nfor {\n\tall = append(all, bytes.Repeat([]byte{1}, 1000000))\n\tif len(all) < 0 {\n"
                            "\t\tfmt.Println(all)\n\t}\n}", "bytes")),
        "killed": killed(go('fmt.Print("")\nsyscall.Kill(os.Getpid(), syscall.SIGKILL)\nselect {}', "os", "syscall")),
        "threads": Program(go("var all sync.WaitGroup\nvar sum atomic.Int64\nfor i := range int64(4) {\n\tall.Add(1)\n\tgo func() {\n"
                              "\t\tsum.Add(i * i)\n\t\tall.Done()\n\t}()\n}\nall.Wait()\nfmt.Println(sum.Load())", "sync", "sync/atomic"), "14\n"),
        "a child": Program(go('text, _ := exec.Command("echo", "inside").Output()\nfmt.Print(string(text))', "os/exec"), "inside\n"),
        "libraries": Program(go('all := []any{nil, 1}\nslices.Reverse(all)\ntext, _ := json.Marshal(all)\n'
                                'power := new(big.Int).Exp(big.NewInt(2), big.NewInt(70), nil)\n'
                                'fmt.Println(string(text), power, regexp.MustCompile("b+").ReplaceAllString("abbc", "-"))',
                                "encoding/json", "math/big", "regexp", "slices"), "[1,null] 1180591620717411303424 a-c\n"),
        "libraries of the net": Program(go('_, err := http.Get("http://127.0.0.1:1/")\nfmt.Println(err != nil)', "net/http"), "true\n"),
        "generics": Program(go("fmt.Println(largest(1, 3, 2))", "cmp",
                               above="func largest[T cmp.Ordered](all ...T) (most T) {\n\tfor _, one := range all {\n"
                                     "\t\tmost = max(most, one)\n\t}\n\treturn\n}\n\n"), "3\n"),
    },
    "rust": {
        "hello": Program(rust('println!("hello");'), "hello\n"),
        "stdin": stdin(rust('println!("{}", std::io::stdin().lines().count());')),
        "unicode": words(rust(f'println!("{WORDS}");')),
        "unicode of stdin": letters(rust('println!("{}", std::io::read_to_string(std::io::stdin()).unwrap().chars().count());')),
        "exit code": exits(rust("std::process::exit(3);")),
        "error": fails('fn main() {\n    panic!("no good");\n}\n', "no good", "main.rs:2"),
        "an error returned": fails('fn main() -> Result<(), Box<dyn std::error::Error>> {\n    Err("no good")?;\n    Ok(())\n}\n', "no good"),
        "error of a line": fails("fn main() {\n    let all: Vec<i32> = std::env::args().map(|_| 1).collect();\n    let i = all.len();\n"
                                 "    println!(\"{}\", all[i]);\n}\n", "index out of bounds", "main.rs:4"),
        "syntax error": is_refused("fn main() {\n    let x = (;\n}\n", "main.rs:2", "error"),
        "error of a name": is_refused("fn main() {\n    missing();\n}\n", "main.rs:2", "cannot find function `missing`"),
        "error of a borrow": is_refused("fn main() {\n    let a = vec![1];\n    let b = a;\n    println!(\"{:?} {:?}\", a, b);\n}\n",
                                        "main.rs:4", "borrow of moved value: `a`"),
        "a warning": Program("fn main() {\n    let x = 1;\n    println!(\"1\");\n}\n", "1\n", warns="unused variable: `x`"),
        "reads a file": reads(rust('print!("{}", std::fs::read_to_string("data/in.txt").unwrap());')),
        "writes a file": writes(rust('std::fs::write("out.txt", "x").unwrap();\nprintln!("{}", std::fs::read_to_string("out.txt").unwrap());')),
        "much output": much(rust(f'print!("{{}}", "x".repeat({MEGABYTE}));')),
        "endless": endless(rust("loop {}")),
        "greedy": greedy(rust("let mut all = Vec::new();\nloop {\n    all.push(vec![all.len() as u8 | 1; 1_000_000]);\n}")),
        "killed": killed(rust('std::process::Command::new("sh").args(["-c", "kill -9 $PPID"]).status().unwrap();\n'
                              "std::thread::sleep(std::time::Duration::from_secs(9));")),
        "threads": Program(rust("let all: Vec<_> = (0..4).map(|i| std::thread::spawn(move || i * i)).collect();\n"
                                'println!("{}", all.into_iter().map(|one| one.join().unwrap()).sum::<i32>());'), "14\n"),
        "a child": Program(rust('std::process::Command::new("echo").arg("inside").status().unwrap();'), "inside\n"),
        "libraries": Program(rust('let mut m = HashMap::new();\n*m.entry("a").or_insert(0) += 2;\nlet s: BTreeSet<_> = [3, 1, 2].into();\n'
                                  'println!("{:?} {:?} {}", m, s, u128::MAX);', "use std::collections::{BTreeSet, HashMap};\n\n"),
                             '{"a": 2} {1, 2, 3} 340282366920938463463374607431768211455\n'),
        "traits": Program(rust('println!("{}", Cat.says());',
                               "trait Says {\n    fn says(&self) -> String;\n}\n\nstruct Cat;\n\nimpl Says for Cat {\n"
                               "    fn says(&self) -> String {\n        \"meow\".into()\n    }\n}\n\n"), "meow\n"),
    },
    "d": {
        "hello": Program(d('writeln("hello");'), "hello\n"),
        "stdin": stdin(d("writeln(stdin.byLine.walkLength);", "std.range")),
        "unicode": words(d(f'writeln("{WORDS}");')),
        "unicode of stdin": letters(d("writeln(readln.walkLength);", "std.range")),
        "exit code": exits("int main()\n{\n    return 3;\n}\n"),
        "error": fails('void main()\n{\n    throw new Exception("no good");\n}\n', "no good", "main.d(3)"),
        "error of a line": fails("void main(string[] words)\n{\n    auto all = new int[1];\n    all[words.length] = 1;\n}\n",
                                 "main.d(4)", "out of bounds"),
        "an assertion": fails('void main(string[] words)\n{\n    assert(words.length == 9, "no good");\n}\n', "main.d(3)", "no good"),
        "syntax error": is_refused("void main()\n{\n    int x = (;\n}\n", "main.d(3)", "Error"),
        "error of a name": is_refused("void main()\n{\n    missing();\n}\n", "main.d(3)", "undefined identifier `missing`"),
        "reads a file": reads(d('write(readText("data/in.txt"));', "std.file")),
        "writes a file": writes(d('std.file.write("out.txt", "x");\nwriteln(readText("out.txt"));', "std.file")),
        "much output": much(d(f"foreach (i; 0 .. {MEGABYTE})\n    write('x');")),
        "endless": endless("void main()\n{\n    while (true) {}\n}\n"),
        "greedy": greedy(d("ubyte[][] all;\nfor (;;) {\n    auto one = new ubyte[1000000];\n    one[] = 1;\n    all ~= one;\n}")),
        "killed": killed(d("kill(getpid(), SIGKILL);", "core.sys.posix.signal", "core.sys.posix.unistd")),
        "threads": Program(d("auto all = new size_t[4];\nforeach (i, ref one; parallel(all))\n    one = i * i;\nwriteln(all.sum);", "std.algorithm", "std.parallelism"), "14\n"),
        "a child": Program(d('write(executeShell("echo inside").output);', "std.process"), "inside\n"),
        "libraries": Program(d('writeln(JSONValue([1, 2]).toString, " ", BigInt(2) ^^ 70, " ", [3, 1, 2].sort, " ", '
                               'replaceAll("abbc", regex("b+"), "-"));', "std.algorithm", "std.bigint", "std.json", "std.regex"),
                             "[1,2] 1180591620717411303424 [1, 2, 3] a-c\n"),
        "templates": Program("import std.stdio;\n\nT twice(T)(T x)\n{\n    return x ~ x;\n}\n\nvoid main()\n{\n    writeln(twice(\"ab\"));\n}\n",
                             "abab\n"),
        "tests of units": fails("import std.stdio;\n\nunittest\n{\n    assert(1 + 1 == 3, \"no good\");\n}\n\nvoid main()\n{\n}\n",
                                "1/1 modules FAILED unittests"),
        "tests of units that pass": Program("import std.stdio;\n\nunittest\n{\n    assert(1 + 1 == 2);\n}\n\nvoid main(string[] words)\n{\n"
                                            "    writeln(words.length);\n}\n", "1\n"),
    },
}
