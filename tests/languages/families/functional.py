"""Functional languages that make programs of the machine: Haskell and OCaml."""

from .common import MEGABYTE, WORDS, Program, endless, exits, fails, greedy, is_refused, killed, letters, much, reads, stdin, words, writes


def haskell(body, *imports):
    listed = "".join(f"import {name}\n" for name in imports)
    return f"{listed}\nmain :: IO ()\nmain = {body}\n"


PROGRAMS = {
    "haskell": {
        "hello": Program(haskell('putStrLn "hello"'), "hello\n"),
        "stdin": stdin(haskell("interact $ \\text -> show (length (lines text)) ++ \"\\n\"")),
        "unicode": words(haskell(f'putStrLn "{WORDS}"')),
        "unicode of stdin": letters(haskell("getContents >>= print . length")),
        "exit code": exits(haskell("exitWith (ExitFailure 3)", "System.Exit")),
        "error": fails(haskell('error "no good"'), "no good", "main.hs"),
        "an error of the system": fails(haskell('readFile "missing" >>= putStr'), "missing: openFile: does not exist"),
        "error of a line": fails("main :: IO ()\nmain = do\n  let f :: Int -> Int\n      f 1 = 1\n  print (f 2)\n", "main.hs:4", "Non-exhaustive patterns"),
        "syntax error": is_refused("main :: IO ()\nmain = print (\n", "main.hs:3", "parse error"),
        "error of a name": is_refused("main :: IO ()\nmain = missing\n", "main.hs:2", "Variable not in scope: missing"),
        "error of a type": is_refused('main :: IO ()\nmain = putStrLn (1 + "a")\n', "main.hs:2", "error"),
        "reads a file": reads(haskell('readFile "data/in.txt" >>= putStr')),
        "writes a file": writes(haskell('writeFile "out.txt" "x" >> readFile "out.txt" >>= putStrLn')),
        "much output": much(haskell(f"putStr (replicate {MEGABYTE} 'x')")),
        "endless": endless("main :: IO ()\nmain = go 0\n  where\n    go :: Integer -> IO ()\n    go n = if n < 0 then print n else go (n + 1)\n"),
        "greedy": greedy(haskell("do\n  let all = [1 :: Integer ..]\n  print (sum (takeWhile (> 0) all))\n  print (length all)")),
        "killed": killed(haskell('callCommand "kill -9 $PPID" >> threadDelay 9000000', "System.Process", "Control.Concurrent")),
        "threads": Program(haskell("do\n  all <- forM [0 .. 3 :: Int] $ \\i -> do\n    one <- newEmptyMVar\n    _ <- forkIO (putMVar one (i * i))\n"
                                   "    pure one\n  mapM takeMVar all >>= print . sum", "Control.Concurrent", "Control.Monad"), "14\n"),
        "a child": Program(haskell('readProcess "echo" ["inside"] "" >>= putStr', "System.Process"), "inside\n"),
        "libraries": Program(haskell("do\n  print (Map.toList (Map.fromListWith (+) [(\"a\", 1 :: Int), (\"a\", 2)]))\n"
                                     "  print (sort [3, 1, 2 :: Int], 2 ^ (70 :: Int) :: Integer)\n  Text.putStrLn (Text.toUpper (Text.pack \"ab\"))\n"
                                     "  print (evalState (modify (+ 1) >> get) (1 :: Int))",
                                     "Control.Monad.State", "Data.List", "qualified Data.Map.Strict as Map", "qualified Data.Text as Text",
                                     "qualified Data.Text.IO as Text"),
                             '[("a",3)]\n([1,2,3],1180591620717411303424)\nAB\n2\n'),
        "a module with a name": Program('module Main (main) where\n\nmain :: IO ()\nmain = putStrLn "named"\n', "named\n"),
    },
    "ocaml": {
        "hello": Program('let () = print_endline "hello"\n', "hello\n"),
        "stdin": stdin('let () = Printf.printf "%d\\n" (List.length (In_channel.input_lines stdin))\n'),
        "unicode": words(f'let () = print_endline "{WORDS}"\n'),
        "unicode of stdin": letters("let rec count text i = if i >= String.length text then 0 else\n"
                                    "  1 + count text (i + Uchar.utf_decode_length (String.get_utf_8_uchar text i))\n"
                                    'let () = Printf.printf "%d\\n" (count (In_channel.input_all stdin) 0)\n'),
        "exit code": exits("let () = exit 3\n"),
        "error": fails('let () = failwith "no good"\n', 'Failure("no good")'),
        "an assertion": fails("let () =\n  assert (Sys.argv = [||])\n", "main.ml", "line 2", "Assertion failed"),
        "error of a line": is_refused("let () =\n  missing 1\n", 'File "main.ml", line 2', "Unbound value"),
        "syntax error": is_refused("let () =\n  print_endline (\n", 'File "main.ml", line 3', "Syntax error"),
        "error of a type": is_refused('let () =\n  print_endline (1 + "a")\n', 'File "main.ml", line 2', "string"),
        "a warning": Program('let () = match Some 1 with Some _ -> print_endline "1"\n', "1\n", warns="not exhaustive"),
        "reads a file": reads('let () = print_string (In_channel.with_open_text "data/in.txt" In_channel.input_all)\n'),
        "writes a file": writes('let () = Out_channel.with_open_text "out.txt" (fun f -> output_string f "x")\n'
                                'let () = print_endline (In_channel.with_open_text "out.txt" In_channel.input_all)\n'),
        "much output": much(f"let () = print_string (String.make {MEGABYTE} 'x')\n"),
        "endless": endless("let () = while true do () done\n"),
        "greedy": greedy("let all = ref []\nlet () = while true do all := Bytes.make 1000000 'x' :: !all done\n"),
        "killed": killed("let () = Unix.kill (Unix.getpid ()) Sys.sigkill\n"),
        "threads": Program('let all = List.init 4 (fun i -> Domain.spawn (fun () -> i * i))\n'
                           'let () = Printf.printf "%d\\n" (List.fold_left (+) 0 (List.map Domain.join all))\n', "14\n"),
        "threads of the system": Program("let all = List.init 4 (fun i -> Thread.create (fun () -> ignore (i * i)) ())\n"
                                         'let () = List.iter Thread.join all; print_endline "joined"\n', "joined\n"),
        "a child": Program('let () = exit (Sys.command "echo inside")\n', "inside\n"),
        "libraries": Program("module Names = Map.Make (String)\n"
                             'let () = Names.iter (Printf.printf "%s %d ") (Names.singleton "a" 1)\n'
                             'let () = print_endline (Str.global_replace (Str.regexp "b+") "-" "abbc")\n', "a 1 a-c\n"),
        "an exception caught": Program('let () = try ignore (List.find (( = ) 1) []) with Not_found -> print_endline "caught"\n', "caught\n"),
    },
}
