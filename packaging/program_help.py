"""The commands of the program and their options, read from its own --help."""

import dataclasses
import re
import subprocess

OF_IMAGES = ("add", "verify")  # commands below "images" with options of their own


@dataclasses.dataclass
class Option:
    name: str  # "--timeout"
    value: str  # "SECONDS"; "": it takes none
    text: str  # on one line


@dataclasses.dataclass
class Command:
    words: tuple  # ("images", "add"); (): the program itself
    usage: list  # lines
    paragraphs: list  # lists of lines, before and after the options
    options: list  # of Option

    @property
    def name(self):
        return "-".join(("code-sandbox-mcp", *self.words))


def read_options(lines):
    """Takes the lines of options from the front of a list."""
    options = []
    while lines and lines[0].startswith("  "):
        line = lines.pop(0)
        begin = re.fullmatch(r"  (--\S+)(?: (\S+))?(?:\s{2,}(.*))?", line)
        if begin:
            options.append(Option(begin[1], begin[2] or "", begin[3] or ""))
        else:
            options[-1].text = f"{options[-1].text} {line.strip()}".strip()
    return options


def parse(words, text):
    """The help of one command, as it was printed."""
    lines = text.splitlines()
    command = Command(words, [], [], [])
    while lines and lines[0]:
        command.usage.append(lines.pop(0).removeprefix("Usage: ").strip())
    while lines:
        line = lines.pop(0)
        if line.startswith("Options"):
            command.options = read_options(lines)
        elif line.startswith(("Commands", "Examples")):
            while lines and lines[0]:
                lines.pop(0)
        elif not line:
            command.paragraphs.append([])
        else:
            command.paragraphs[-1].append(line)
    command.paragraphs = [paragraph for paragraph in command.paragraphs if paragraph]
    return command


def read_images(fetch):
    """{name: summary} of the images that `fetch` makes; a summary goes on in lines that are indented further."""
    [paragraph] = [lines for lines in fetch.paragraphs if lines[0].startswith("Images that can be made")]
    text = re.sub(r"\n {3,}", " ", "\n".join(paragraph[1:]))
    return dict(re.findall(r"^  (\S+) +(.*)$", text, re.M))


def help_of(program, *words):
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL).stdout


def read_commands(program):
    """{name: summary}, in the order of --help."""
    listed = help_of(program).split("\nCommands (each has --help):\n")[1].split("\n\n")[0]
    return dict(re.findall(r"^  (\S+)\s+(.*)$", listed, re.M))


def read_all(program):
    """Each Command by its words; that of the server is ()."""
    commands = {(): parse((), help_of(program))}
    for name in read_commands(program):
        if name != "serve":
            commands[(name,)] = parse((name,), help_of(program, name))
    for name in OF_IMAGES:
        commands[("images", name)] = parse(("images", name), help_of(program, "images", name))
    return commands
