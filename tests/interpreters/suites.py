"""The own tests of the two interpreters, in groups: what to run, and as which code."""

import json
import pathlib

import differences

HERE = pathlib.Path(__file__).resolve().parent
GROUP_SECONDS = 1800


class Suite:
    """`groups` names what runs in one go; `sample` those that say most in a short time.

    `declaration` is how the language gives the driver its arguments, of which `seconds` is the time
    that a process of the suite may take.
    """

    def __init__(self, language, groups, differences_, driver, declaration, seconds, sample):
        self.language, self.declaration, self.seconds = language, declaration, seconds
        self.groups = differences.lines_of(HERE / groups)
        self.listed = differences.read(HERE / differences_)
        self.driver = (HERE / driver).read_text()
        self.sample = sample

    def code(self, group, names=(), ignore=()):
        """What runs these tests of a group, or all, and prints {"cases": {name: outcome}, "log"}."""
        arguments = {"group": group, "match": list(names), "ignore": list(ignore),
                     "seconds": self.seconds}
        return f"{self.declaration} = {json.dumps(arguments)}\n{self.driver}"

    def codes(self, group, names=()):
        """Outside, and inside, where what is listed as absent is not run."""
        absent = [line.pattern for line in self.listed_for(group) if line.outcome == differences.ABSENT]
        return self.code(group, names), self.code(group, names, absent)

    def listed_for(self, group):
        return [line for line in self.listed if self.is_of(line.pattern, group)]


class PythonSuite(Suite):
    """The modules of `python3 -m test`; a module that runs none of its tests stands for itself."""

    @staticmethod
    def is_of(name, group):
        return name == group or name.startswith(f"test.{group}.")


class NodeSuite(Suite):
    """The tests of one directory whose names begin alike."""

    @staticmethod
    def is_of(name, group):
        return name.startswith(group)


PYTHON = PythonSuite("python", "python-modules", "python-differences", "python_driver.py", "ARGUMENTS",
                     1200, ["test_os", "test_subprocess", "test_mmap", "test_signal"])
NODE = NodeSuite("javascript", "node-groups", "node-differences", "node_driver.js", "const ARGUMENTS",
                 60, ["parallel/test-os", "parallel/test-pipe", "parallel/test-signal",
                      "parallel/test-stdin"])
ALL = {"python": PYTHON, "node": NODE}


def groups():
    return [group for suite in ALL.values() for group in suite.groups]


def sample():
    return [group for suite in ALL.values() for group in suite.sample]


def of(group):
    """The suite of a group."""
    return next(suite for suite in ALL.values() if group in suite.groups)
