"""Languages of virtual machines: Java, Kotlin, Scala and C#."""

from .common import MEGABYTE, WORDS, Program, endless, exits, fails, is_refused, killed, letters, much, reads, stdin, words, writes


def java(body, above="", throws="throws Exception "):
    return (f"import java.io.*;\nimport java.math.*;\nimport java.nio.file.*;\nimport java.util.*;\nimport java.util.concurrent.*;\n"
            f"import java.util.stream.*;\n\n{above}public class Main {{\n    public static void main(String[] words) {throws}{{\n{body}\n    }}\n}}\n")


def kotlin(body, *imports):
    listed = "".join(f"import {name}\n" for name in imports)
    return f"{listed}\nfun main() {{\n{body}\n}}\n"


def scala(body, *imports):
    listed = "".join(f"import {name}\n" for name in imports)
    return f"{listed}\nobject Test {{\n  def main(words: Array[String]): Unit = {{\n{body}\n  }}\n}}\n"


def csharp(body, above=""):
    return ("using System;\nusing System.Collections.Generic;\nusing System.Diagnostics;\nusing System.IO;\nusing System.Linq;\n"
            "using System.Numerics;\nusing System.Text;\nusing System.Text.RegularExpressions;\nusing System.Threading;\n"
            f"using System.Threading.Tasks;\n\n{above}class Program\n{{\n    static void Main()\n    {{\n{body}\n    }}\n}}\n")


PROGRAMS = {
    "java": {
        "hello": Program(java('System.out.println("hello");'), "hello\n"),
        "stdin": stdin(java("System.out.println(new BufferedReader(new InputStreamReader(System.in)).lines().count());")),
        "a scanner": Program(java("Scanner in = new Scanner(System.in);\nSystem.out.println(in.nextInt() + in.nextInt());"), "7\n", stdin="3 4\n"),
        "unicode": words(java(f'System.out.println("{WORDS}");')),
        "unicode of stdin": letters(java("String text = new Scanner(System.in).nextLine();\nSystem.out.println(text.codePointCount(0, text.length()));")),
        "exit code": exits(java("System.exit(3);")),
        "error": fails(java('throw new IllegalStateException("no good");'), "java.lang.IllegalStateException: no good"),
        "error of a line": fails("class Main {\n    public static void main(String[] words) {\n        System.out.println(1 / words.length);\n    }\n}\n",
                                 "/ by zero", "Main.java:3"),
        "an assertion": fails(java('assert words.length == 9 : "no good";'), "AssertionError: no good"),
        "syntax error": is_refused("class Main {\n    void f() {\n        int x = (;\n    }\n}\n", "Main.java:3", "error: illegal start of expression"),
        "error of a name": is_refused("class Main {\n    void f() {\n        missing();\n    }\n}\n", "Main.java:3", "cannot find symbol"),
        "an exception that is not declared": is_refused(java('throw new Exception("no good");', throws=""), "Main.java:10", "unreported exception"),
        "a note": Program(java('List all = new ArrayList();\nall.add(1);\nSystem.out.println(all);'), "[1]\n", warns="unchecked"),
        "reads a file": reads(java('System.out.print(Files.readString(Path.of("data/in.txt")));')),
        "writes a file": writes(java('Files.writeString(Path.of("out.txt"), "x");\nSystem.out.println(Files.readString(Path.of("out.txt")));')),
        "much output": much(java(f'System.out.print("x".repeat({MEGABYTE}));')),
        "endless": endless(java("while (true);")),
        "greedy": fails(java("List<byte[]> all = new ArrayList<>();\nwhile (true) all.add(new byte[1000000]);"), "OutOfMemoryError"),
        "deep": fails(java("System.out.println(deeper(1));", throws="").replace("public static", "static int deeper(int n) { return deeper(n + 1) + 1; }\n    public static"),
                      "StackOverflowError"),
        "killed": killed(java('new ProcessBuilder("sh", "-c", "kill -9 $PPID").start().waitFor();\nThread.sleep(9000);')),
        "threads": Program(java("var pool = Executors.newFixedThreadPool(4);\nvar all = new ArrayList<Future<Integer>>();\n"
                                "for (int i = 0; i < 4; i++) {\n    int n = i;\n    all.add(pool.submit(() -> n * n));\n}\nint sum = 0;\n"
                                "for (var one : all) sum += one.get();\npool.shutdown();\nSystem.out.println(sum);"), "14\n"),
        "a child": Program(java('new ProcessBuilder("echo", "inside").inheritIO().start().waitFor();'), "inside\n"),
        "libraries": Program(java('System.out.println(Stream.of(3, 1, 2).sorted().map(String::valueOf).collect(Collectors.joining(",")) + " "\n'
                                  '    + BigInteger.TWO.pow(70) + " " + "abbc".replaceAll("b+", "-"));'), "1,2,3 1180591620717411303424 a-c\n"),
        "tuples": Program(java("System.out.println(Pair.with(1, \"a\").getValue1());").replace("import java.io", "import org.javatuples.*;\nimport java.io", 1),
                          "a\n"),
        "two classes and a package": Program("package a.b;\n\nclass Other {\n    static int three() { return 3; }\n}\n\nclass Start {\n"
                                             "    public static void main(String... words) {\n        System.out.println(Other.three());\n    }\n}\n", "3\n"),
        "a record": Program(java("System.out.println(new Point(1, 2));", "record Point(int x, int y) {}\n\n"), "Point[x=1, y=2]\n"),
    },
    "kotlin": {
        "hello": Program(kotlin('println("hello")'), "hello\n"),
        "stdin": stdin(kotlin("println(generateSequence(::readLine).count())")),
        "unicode": words(kotlin(f'println("{WORDS}")')),
        "unicode of stdin": letters(kotlin("val text = readLine()!!\nprintln(text.codePointCount(0, text.length))")),
        "exit code": exits(kotlin("exitProcess(3)", "kotlin.system.exitProcess")),
        "error": fails(kotlin('error("no good")'), "java.lang.IllegalStateException: no good"),
        "error of a line": fails("fun main() {\n    val all = listOf<Int>()\n    println(all[1])\n}\n", "main.kt:3"),
        "an assertion": fails(kotlin('val x = readLine()\nassert(x == "a") { "no good" }'), "AssertionError: no good"),
        "syntax error": is_refused("fun main() {\n    val x = (\n}\n", "main.kt:2", "error: expecting"),
        "error of a name": is_refused("fun main() {\n    missing()\n}\n", "main.kt:2", "unresolved reference: missing"),
        "a warning": Program('fun main() {\n    val x = 1\n    println("1")\n}\n', "1\n", warns="variable 'x' is never used"),
        "reads a file": reads(kotlin('print(File("data/in.txt").readText())', "java.io.File")),
        "writes a file": writes(kotlin('File("out.txt").writeText("x")\nprintln(File("out.txt").readText())', "java.io.File")),
        "much output": much(kotlin(f'print("x".repeat({MEGABYTE}))')),
        "endless": endless(kotlin("while (true) {}")),
        "greedy": fails(kotlin("val all = mutableListOf<ByteArray>()\nwhile (true) all.add(ByteArray(1000000))"), "OutOfMemoryError"),
        "killed": killed(kotlin('ProcessBuilder("sh", "-c", "kill -9 \\$PPID").start().waitFor()\nThread.sleep(9000)')),
        "threads": Program(kotlin("val all = IntArray(4)\n(0..3).map { i -> thread { all[i] = i * i } }.forEach { it.join() }\nprintln(all.sum())",
                                  "kotlin.concurrent.thread"), "14\n"),
        "a child": Program(kotlin('ProcessBuilder("echo", "inside").inheritIO().start().waitFor()'), "inside\n"),
        "libraries": Program(kotlin('println(listOf(3, 1, 2).sorted().groupBy { it % 2 })\nprintln(2.toBigInteger().pow(70))\n'
                                    'println("abbc".replace(Regex("b+"), "-"))'), "{1=[1, 3], 0=[2]}\n1180591620717411303424\na-c\n"),
        "classes": Program("data class Point(val x: Int, val y: Int)\n\nfun main(words: Array<String>) {\n    println(Point(1, 2).copy(y = 3))\n}\n",
                           "Point(x=1, y=3)\n"),
    },
    "scala": {
        "hello": Program(scala('println("hello")'), "hello\n"),
        "stdin": stdin(scala("println(scala.io.Source.stdin.getLines.size)")),
        "unicode": words(scala(f'println("{WORDS}")')),
        "unicode of stdin": letters(scala("val text = StdIn.readLine()\nprintln(text.codePointCount(0, text.length))", "scala.io.StdIn")),
        "exit code": exits(scala("sys.exit(3)")),
        "error": fails(scala('throw new Exception("no good")'), "java.lang.Exception: no good"),
        "error of a line": fails("object Test {\n  def main(words: Array[String]): Unit = {\n    println(1 / words.length)\n  }\n}\n",
                                 "/ by zero", "main.scala:3"),
        "an assertion": fails(scala('assert(words.length == 9, "no good")'), "AssertionError: assertion failed: no good"),
        "syntax error": is_refused("object Test {\n  def main(words: Array[String]): Unit = {\n    val x = (\n  }\n}\n",
                                   "main.scala:4", "illegal start of simple expression"),
        "error of a name": is_refused("object Test {\n  def f = missing\n}\n", "main.scala:2", "not found: value missing"),
        "a warning": Program(scala('Option(1) match { case None => }\nprintln("1")').replace("Option(1)", "Option(words.length) match { case Some(_) => }\nOption.empty[Int]", 1),
                             "1\n", warns="match may not be exhaustive"),
        "reads a file": reads(scala('print(scala.io.Source.fromFile("data/in.txt").mkString)')),
        "writes a file": writes(scala('Files.write(Paths.get("out.txt"), "x".getBytes)\nprintln(new String(Files.readAllBytes(Paths.get("out.txt"))))',
                                      "java.nio.file.{Files, Paths}")),
        "much output": much(scala(f'print("x" * {MEGABYTE})')),
        "endless": endless(scala("while (true) {}")),
        "greedy": fails(scala("var all = List[Array[Byte]]()\nwhile (true) all = new Array[Byte](1000000) :: all"), "OutOfMemoryError"),
        "killed": killed(scala('Seq("sh", "-c", "kill -9 $PPID").!\nThread.sleep(9000)', "scala.sys.process._")),
        "threads": Program(scala("println(Await.result(Future.sequence((0 to 3).map(i => Future(i * i))), 9.seconds).sum)",
                                 "scala.concurrent._", "scala.concurrent.duration._", "scala.concurrent.ExecutionContext.Implicits.global"), "14\n"),
        "a child": Program(scala('print("echo inside".!!)', "scala.sys.process._"), "inside\n"),
        "libraries": Program(scala('println(List(3, 1, 2).sorted.groupBy(_ % 2).toList.sortBy(_._1))\nprintln(BigInt(2).pow(70))\n'
                                   'println("abbc".replaceAll("b+", "-") + mutable.Map("a" -> 1))', "scala.collection.mutable"),
                             "List((0,List(2)), (1,List(1, 3)))\n1180591620717411303424\na-cMap(a -> 1)\n"),
        "an app": Program('case class Point(x: Int, y: Int)\n\nobject Test extends App {\n  println(Point(1, 2))\n}\n', "Point(1,2)\n"),
    },
    "csharp": {
        "hello": Program(csharp('Console.WriteLine("hello");'), "hello\n"),
        "stdin": stdin(csharp("int n = 0; while (Console.ReadLine() != null) n++; Console.WriteLine(n);")),
        "unicode": words(csharp(f'Console.WriteLine("{WORDS}");')),
        "unicode of stdin": letters(csharp("Console.WriteLine(new System.Globalization.StringInfo(Console.In.ReadToEnd()).LengthInTextElements);")),
        "exit code": exits("class Program\n{\n    static int Main()\n    {\n        return 3;\n    }\n}\n"),
        "exit from within": exits(csharp("Environment.Exit(3);")),
        "error": fails(csharp('throw new InvalidOperationException("no good");'), "System.InvalidOperationException: no good"),
        "error of a line": is_refused("class Program\n{\n    static void Main()\n    {\n        missing();\n    }\n}\n",
                                      "main.cs(5,", "The name `missing' does not exist"),
        "syntax error": is_refused("class Program\n{\n    static void Main()\n    {\n        int x = (;\n    }\n}\n", "main.cs(5,", "error CS"),
        "an assertion": Program(csharp('int x = 1; Debug.Assert(x == 2, "no good"); Console.WriteLine("on");'), "on\n", says=("Fail", "no good")),
        "a warning": Program("class Program\n{\n    static void Main()\n    {\n        int x;\n        System.Console.WriteLine(\"1\");\n    }\n}\n",
                             "1\n", warns="main.cs(5,"),
        "reads a file": reads(csharp('Console.Write(File.ReadAllText("data/in.txt"));')),
        "writes a file": writes(csharp('File.WriteAllText("out.txt", "x"); Console.WriteLine(File.ReadAllText("out.txt"));')),
        "much output": much(csharp(f"Console.Write(new string('x', {MEGABYTE}));")),
        "endless": endless(csharp("while (true) {}")),
        "greedy": Program(csharp("var all = new List<byte[]>(); while (true) all.Add(Enumerable.Repeat((byte)1, 1000000).ToArray());"),
                          outcome="out_of_memory"),
        "killed": killed(csharp("Process.GetCurrentProcess().Kill(); Thread.Sleep(9000);")),
        "threads": Program(csharp("Console.WriteLine(Task.WhenAll(Enumerable.Range(0, 4).Select(i => Task.Run(() => i * i))).Result.Sum());"), "14\n"),
        "a child": Program(csharp('Process.Start(new ProcessStartInfo("/bin/echo", "inside") { UseShellExecute = false }).WaitForExit();'), "inside\n"),
        "libraries": Program(csharp('Console.WriteLine(string.Join(",", new[] { 3, 1, 2 }.OrderBy(i => i)) + " " + BigInteger.Pow(2, 70) + " "\n'
                                    '    + Regex.Replace("abbc", "b+", "-") + new SortedSet<int> { 2, 1 }.Min + new StringBuilder("x"));'),
                             "1,2,3 1180591620717411303424 a-c1x\n"),
        "a number": Program(csharp('Console.WriteLine($"{1.5} {DateTime.UnixEpoch.Year}");'.replace("DateTime.UnixEpoch", "new DateTime(1970, 1, 1)")), "1.5 1970\n"),
        "tuples": Program(csharp('var (a, b) = (1, "x"); Console.WriteLine(a + b);'), "1x\n"),
    },
}
