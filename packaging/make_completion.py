"""Writes the completion of a shell: make_completion.py PROGRAM LIST-SETTINGS bash|zsh|fish OUTPUT

What can follow a word is data, the same for all shells; a function for each shell writes it down.
"""

import json
import re
import subprocess
import sys

import program_help

# What operands are: words, or one of the kinds FILES, DIRECTORIES, IMAGES.
FILES, DIRECTORIES, IMAGES = "files", "directories", "images"
OPERANDS = {("run",): FILES, ("check",): FILES, ("network",): ["check"], ("images", "add"): IMAGES, ("images", "verify"): IMAGES}
OF_IMAGES = ["list", "add", "history", "du", "verify", "remove", "prune"]
WITH_IMAGE = ["history", "remove"]


class Value:
    """What may follow an option: words, a kind, or None for anything else."""

    def __init__(self, option, settings, languages):
        name = option.value
        choices = settings.get(option.name, {}).get("choices") or (name.split("|") if "|" in name else [])
        self.is_there = bool(name)
        self.words = languages if name == "LANGUAGE" else choices
        self.kind = (FILES if name in ("FILE", "SOURCE") else DIRECTORIES if name.startswith(("DIR", "FOLDER"))
                     else IMAGES if option.name.endswith("-image") else None)


class Program:
    def __init__(self, path, settings):
        self.commands = program_help.read_all(path)
        self.summaries = {name: text for name, text in program_help.read_commands(path).items() if name != "serve"}
        self.languages = [name[2:-6] for name in settings if name.endswith("-image")]
        self.recipes = list(program_help.read_images(self.commands[("fetch",)]))
        self.values = {option.name: Value(option, settings, self.languages)
                       for command in self.commands.values() for option in command.options}

    def operands(self, words):
        if words in (("fetch",), ("setup",)):
            return self.recipes
        return OPERANDS.get(words)


def brief(text):
    """The first clause."""
    return re.split(r"[;(]", text)[0].strip().rstrip(",:")


def bash(program):
    yield "# Completion of code-sandbox-mcp for bash."
    yield "_code_sandbox_mcp_images()\n{"
    yield "    \"${COMP_WORDS[0]}\" images list 2>/dev/null | sed -n '2,$s/ .*//p'\n}\n"
    yield "_code_sandbox_mcp()\n{"
    yield "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= words="
    yield "    if [[ $current == = ]]; then\n        current="
    yield "    elif [[ $previous == = ]]; then\n        previous=${COMP_WORDS[COMP_CWORD-2]}\n    fi"
    yield "    if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} != -* ]]; then\n        command=${COMP_WORDS[1]}"
    yield "        if [[ $command == images ]] && ((COMP_CWORD > 2)); then"
    yield "            command=\"images ${COMP_WORDS[2]}\"\n        fi\n    fi"
    yield "    COMPREPLY=()"
    yield "    case $previous in"
    for name, value in program.values.items():
        if not value.is_there:
            continue
        answer = {FILES: 'COMPREPLY=($(compgen -f -- "$current")); compopt -o filenames',
                  DIRECTORIES: 'COMPREPLY=($(compgen -d -- "$current")); compopt -o filenames',
                  IMAGES: 'COMPREPLY=($(compgen -W "$(_code_sandbox_mcp_images)" -- "$current"))'}.get(
                      value.kind, f"COMPREPLY=($(compgen -W '{' '.join(value.words)}' -- \"$current\"))" if value.words else ":")
        yield f"    {name}) {answer}; return ;;"
    yield "    esac"
    yield "    case $command in"
    for words, command in program.commands.items():
        options = " ".join(option.name for option in command.options)
        yield f"    '{' '.join(words)}') words='{options}' ;;"
    yield "    images\\ *) words='--json --help --version' ;;"
    yield "    esac"
    yield "    if [[ $current != -* ]]; then\n        case $command in"
    yield f"        '') words='{' '.join(program.summaries)}' ;;"
    yield f"        images) words='{' '.join(OF_IMAGES)}' ;;"
    for words in [*program.commands, *(("images", word) for word in WITH_IMAGE)]:
        operands = IMAGES if words[-1:] and words[-1] in WITH_IMAGE else program.operands(words)
        if operands == FILES:
            yield f"        '{' '.join(words)}') COMPREPLY=($(compgen -f -- \"$current\")); compopt -o filenames; return ;;"
        elif operands == IMAGES:
            yield f"        '{' '.join(words)}') words=$(_code_sandbox_mcp_images) ;;"
        elif operands:
            yield f"        '{' '.join(words)}') words='{' '.join(operands)}' ;;"
    yield "        *) words= ;;\n        esac\n    fi"
    yield "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n"
    yield "complete -F _code_sandbox_mcp code-sandbox-mcp"


def zsh_quoted(text):
    return text.replace("'", "'\\''")


def zsh_text(text):
    return zsh_quoted(re.sub(r"([\[\]:\\])", r"\\\1", text))


def zsh_action(value):
    if value.words:
        return f"({' '.join(value.words)})"
    return {FILES: "_files", DIRECTORIES: "_files -/", IMAGES: "_code_sandbox_mcp_images"}.get(value.kind, " ")


def zsh_options(program, command):
    for option in command.options:
        value = program.values[option.name]
        again = "*" if "repeat" in option.text or command.words == ("images", "add") else ""
        if value.is_there:
            yield f"'{again}{option.name}=[{zsh_text(brief(option.text))}]:{zsh_text(option.value)}:{zsh_action(value)}'"
        else:
            yield f"'{again}{option.name}[{zsh_text(brief(option.text))}]'"


def zsh(program):
    yield "#compdef code-sandbox-mcp"
    yield "_code_sandbox_mcp_images() {\n    local -a names"
    yield "    names=(${(f)\"$(_call_program images code-sandbox-mcp images list 2>/dev/null | sed -n '2,$s/ .*//p')\"})"
    yield "    compadd -a names\n}\n"
    yield "_code_sandbox_mcp_commands() {\n    local -a names"
    yield "    names=(" + " ".join(f"'{name}:{zsh_quoted(text)}'" for name, text in program.summaries.items()) + ")"
    yield "    _describe command names\n}\n"
    yield "_code_sandbox_mcp() {\n    local command=\n    local -a options"
    yield "    if (( CURRENT > 2 )) && [[ $words[2] != -* ]]; then\n        command=$words[2]"
    yield "        shift words\n        (( CURRENT-- ))"
    yield "        if [[ $command == images ]] && (( CURRENT > 2 )); then\n            command=\"images $words[2]\""
    yield "            shift words\n            (( CURRENT-- ))\n        fi\n    fi"
    yield "    case $command in"
    operands = {(): "'1: :_code_sandbox_mcp_commands'", ("images",): f"'1:command:({' '.join(OF_IMAGES)})'"}
    for words, command in program.commands.items():
        known = program.operands(words)
        last = operands.get(words) or (f"'*:name:({' '.join(known)})'" if isinstance(known, list) else
                                       {FILES: "'*:file:_files'", IMAGES: "'*:image:_code_sandbox_mcp_images'"}.get(known, ""))
        yield f"    '{' '.join(words)}') options=({' '.join(zsh_options(program, command))} {last}) ;;"
    for word in OF_IMAGES:
        if ("images", word) not in program.commands:
            last = "'*:image:_code_sandbox_mcp_images'" if word in WITH_IMAGE else ""
            yield f"    'images {word}') options=('--json[as one JSON document]' {last}) ;;"
    yield "    esac"
    yield "    _arguments -S : $options\n}\n"
    yield "_code_sandbox_mcp \"$@\""


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_line(words, *rest):
    condition = fish_quoted(f"__code_sandbox_mcp_at {fish_quoted(' '.join(words))}")
    return " ".join(["complete -c code-sandbox-mcp -n", condition, *rest])


def fish_option(value, option):
    arguments = ["-l", option.name[2:]]
    if value.kind == FILES:
        arguments += ["-r", "-F"]
    elif value.is_there:
        arguments += ["-x"]
        words = " ".join(value.words) or {DIRECTORIES: "(__fish_complete_directories)",
                                          IMAGES: "(__code_sandbox_mcp_images)"}.get(value.kind)
        arguments += ["-a", fish_quoted(words)] if words else []
    return [*arguments, "-d", fish_quoted(brief(option.text))]


def fish(program):
    yield "# Completion of code-sandbox-mcp for fish."
    yield "function __code_sandbox_mcp_images\n    code-sandbox-mcp images list 2>/dev/null | sed -n '2,$s/ .*//p'\nend\n"
    yield "function __code_sandbox_mcp_at # whether the line so far is of this command"
    yield "    set -l words (commandline -opc)[2..-1]\n    set -l command ''"
    yield "    if set -q words[1]; and not string match -q -- '-*' $words[1]\n        set command $words[1]"
    yield "        if test $command = images; and set -q words[2]; and not string match -q -- '-*' $words[2]"
    yield "            set command \"images $words[2]\"\n        end\n    end"
    yield "    test \"$command\" = \"$argv[1]\"\nend\n"
    yield "complete -c code-sandbox-mcp -f"
    for name, summary in program.summaries.items():
        yield fish_line((), "-a", name, "-d", fish_quoted(summary))
    yield fish_line(("images",), "-a", fish_quoted(" ".join(OF_IMAGES)))
    for word in OF_IMAGES:
        if ("images", word) not in program.commands:
            yield fish_line(("images", word), "-l", "json", "-d", "'as one JSON document'")
        if word in WITH_IMAGE:
            yield fish_line(("images", word), "-a", "'(__code_sandbox_mcp_images)'")
    for words, command in program.commands.items():
        for option in command.options:
            yield fish_line(words, *fish_option(program.values[option.name], option))
        operands = program.operands(words)
        if operands == FILES:
            yield fish_line(words, "-F")
        elif operands:
            yield fish_line(words, "-a", fish_quoted("(__code_sandbox_mcp_images)" if operands == IMAGES else " ".join(operands)))


def main():
    path, list_settings, shell, output = sys.argv[1:]
    listed = json.loads(subprocess.run([list_settings], check=True, capture_output=True).stdout)
    program = Program(path, {setting["option"]: setting for setting in listed})
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join({"bash": bash, "zsh": zsh, "fish": fish}[shell](program)) + "\n")


if __name__ == "__main__":
    main()
