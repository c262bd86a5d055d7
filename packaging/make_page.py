"""Writes a manual page: make_page.py PROGRAM LIST-SETTINGS VERSION DATE SCDOC PAGE.scd OUTPUT

PAGE.scd is prose in the language of scdoc(5). The lines of these directives are replaced by what the
program says of itself:

    @synopsis WORD...@      the usage of a command
    @options WORD...@       its options; those of the server without a word
    @commands@              the commands, with references to their pages
    @images@                the images that can be fetched
    @keys@                  the keys of the configuration file
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import program_help

SERVER = "code-sandbox-mcp"
PARAGRAPHS = (".P", ".PP")  # macros of man(7)
LINE = 64  # characters; roff adds escapes, and its lines shall stay below 80


def escaped(text):
    return re.sub(r"([\\*_~\[\]<>#|`])", r"\\\1", text)


def synopsis(command):
    """With the name of the command in bold."""
    name = " ".join((SERVER, *command.words))
    usages = re.split(rf" (?={SERVER} )", " ".join(command.usage))
    for usage in usages:
        yield f"*{escaped(name)}*{escaped(usage.removeprefix(name))}"
        yield ""


def entry(head, *texts):
    yield head
    for text in texts:
        yield f"\t{text}"
        yield ""


def options(command, settings):
    for option in command.options:
        value = f" _{escaped(option.value)}_" if option.value else ""
        setting = settings.get(option.name, {})
        places = ", ".join(f"{what} *{escaped(setting[what])}*" for what in ("variable", "key") if setting.get(what))
        yield from entry(f"*{option.name}*{value}", f"{escaped(option.text)}." + (f" {places[0].upper()}{places[1:]}." if places else ""))


def commands(program):
    for name, summary in program_help.read_commands(program).items():
        page = SERVER if name == "serve" else f"{SERVER}-{name}"
        yield from entry(f"*{name}*", f"{escaped(summary)}: *{page}*(1)." if name != "serve" else f"{escaped(summary)}.")


def images(fetch):
    for name, summary in program_help.read_images(fetch).items():
        yield from entry(f"*{escaped(name)}*", f"{escaped(summary)}.")


def keys(server, settings):
    texts = {option.name: option.text for option in server.options}
    for name, setting in settings.items():
        if setting["key"]:
            choices = ", ".join(f'"{choice}"' for choice in setting["choices"])
            yield from entry(f"*{escaped(setting['key'])}*: {escaped(f'one of {choices}' if choices else setting['form'])}",
                             f"{escaped(setting['meaning'] or texts[name])}. Option *{name}*.")


def wrapped(line):
    """A line as several short ones. What is bold stays in one."""
    indent = re.match(r"\t?(?:- )?", line)[0]
    whole = re.sub(r"(?<!\\)([*_]).*?(?<!\\)\1", lambda match: match[0].replace(" ", "\0"), line)
    rest = indent if indent.startswith("\t") else " " * len(indent)
    lines = textwrap.wrap(whole, LINE, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False,
                          expand_tabs=False, replace_whitespace=False)
    return [piece.replace("\0", " ") for piece in lines] or [line]


def all_wrapped(lines):
    is_literal = False
    for line in lines:
        is_literal ^= line == "```"
        yield from [line] if is_literal else wrapped(line)


def replaced(line, program, all_commands, settings):
    directive = re.fullmatch(r"@(\w+)((?: \w+)*)@", line)
    if not directive:
        return [line]
    command = all_commands[tuple(directive[2].split())]
    return {"synopsis": lambda: synopsis(command), "options": lambda: options(command, settings),
            "commands": lambda: commands(program), "images": lambda: images(all_commands[("fetch",)]),
            "keys": lambda: keys(command, settings)}[directive[1]]()


def without_empty_paragraphs(lines):
    """scdoc begins a paragraph after each heading and at the end of each entry; roff finds them empty."""
    kept = []
    for line in lines:
        is_after_empty = bool(kept) and kept[-1] in PARAGRAPHS
        if is_after_empty and (line in PARAGRAPHS or line.startswith((".RE", ".SH"))):
            kept.pop()
        if line not in PARAGRAPHS or not (kept and kept[-1].startswith((".SH", ".TH"))):
            kept.append(line)
        if is_after_empty and line == ".RE":  # the space belongs behind the entry
            kept.append(".P")
    return kept


def main():
    program, list_settings, version, date, scdoc, page, output = sys.argv[1:]
    listed = json.loads(subprocess.run([list_settings], check=True, capture_output=True).stdout)
    settings = {setting["option"]: setting for setting in listed}
    all_commands = program_help.read_all(program)
    lines = pathlib.Path(page).read_text(encoding="utf-8").replace("@VERSION@", version).splitlines()
    text = "\n".join(all_wrapped(new for line in lines for new in replaced(line, program, all_commands, settings)))
    text = re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
    seconds = subprocess.run(["date", "--utc", "--date", date, "+%s"], check=True, capture_output=True, text=True).stdout
    done = subprocess.run([scdoc], input=text.encode(), check=True, stdout=subprocess.PIPE,
                          env={**os.environ, "SOURCE_DATE_EPOCH": seconds.strip()})
    pathlib.Path(output).write_text("\n".join(without_empty_paragraphs(done.stdout.decode().splitlines())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
