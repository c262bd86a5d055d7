"""A store whose images have layers, and the programs that work on it."""

import os
import signal
import subprocess

from . import refusing

SECONDS_MAX = 300  # generous: an installer on a busy machine


def heed_signals():
    """Whoever started the tests in the background may have them ignored, and that is inherited."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Layered:
    """A store with the image `base`, and the server that runs on it, on a host that allows this tier at the most."""

    def __init__(self, server, program, directory, tier="F"):
        self.server, self.program, self.directory, self.tier = server, program, directory, tier
        self.before = refusing.HOSTS_OF_TIERS.get(tier, [])
        self.allowed = {} if tier == "F" else {"SANDBOX_WEAKER": tier, "CODE_SANDBOX_IMAGE_TIER": tier}
        self.images = directory / "code-sandbox-mcp" / "images"
        self.layers = directory / "code-sandbox-mcp" / "layers"

    def environment(self, image, language="python"):
        return {**self.environment_of_commands(), "CONTAINER_IMAGE": image, "CONTAINER_LANGUAGE": language}

    def environment_of_commands(self):
        return {**os.environ, "XDG_DATA_HOME": str(self.directory), **self.allowed}

    def start(self, image, code, *options, language="python"):
        process = subprocess.Popen([*self.before, self.server, "run", "--language", language, *options, "-"],
                                   env=self.environment(image, language), text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(code)
        process.stdin.close()
        return process

    def run(self, image, code, language="python"):
        process = self.start(image, code, language=language)
        out, err = process.stdout.read(), process.stderr.read()
        assert process.wait(SECONDS_MAX) == 0, err
        return out.strip()

    def command(self, *arguments, program=None, **variables):
        return subprocess.run([*self.before, program or self.server, *map(str, arguments)], text=True,
                              capture_output=True, check=False, timeout=SECONDS_MAX,
                              env={**self.environment_of_commands(), **variables})

    def start_add(self, *arguments):
        return subprocess.Popen([*self.before, self.server, "images", "add", *arguments], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, preexec_fn=heed_signals,
                                env=self.environment_of_commands())

    def add(self, *arguments, **variables):
        return self.command("images", "add", *arguments, **variables)

    def must_add(self, *arguments, **variables):
        done = self.add(*arguments, **variables)
        assert done.returncode == 0, done.stderr
        return done

    def fetch(self, *arguments):
        return self.command("fetch", *arguments, program=self.program)

    def ids(self):
        return sorted(os.listdir(self.layers))


def put(tree, path, text, mode=0o644):
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(text)
    (tree / path).chmod(mode)
