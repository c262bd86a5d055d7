"""What a program installs for itself is found where it and the installer look."""

import json

import pytest

from support.sample import in_gate
from support.sessions import Session, call

PACKAGE = {"name": "p/package.json", "text": json.dumps({"name": "p", "version": "1.0.0", "main": "index.js"})}
INDEX = {"name": "p/index.js", "text": "module.exports = 'found'"}
NPM = "const npm = (...words) => require('child_process').execFileSync('npm', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();\n"
PLACES = {  # what comes first, what is asked, the files, the answer
    "the work directory": ("", "prefix", [], "/work"),
    "its packages": ("", "root", [], "/work/node_modules"),
    "a directory below": ("require('fs').mkdirSync('d'); process.chdir('d');", "prefix", [], "/work"),
    "a project of one's own": ("process.chdir('p');", "prefix", [PACKAGE], "/work/p"),
    "a project at the top": ("", "prefix", [{"name": "package.json", "text": "{}"}], "/work"),
}


@pytest.fixture
def networked(start, images):
    if "node" not in images:
        pytest.skip("no image for JavaScript: code-sandbox-mcp fetch node")
    started = start("--network", "on")
    started.initialize()
    return started


@pytest.mark.parametrize("name", in_gate(PLACES, 2))
def test_npm_takes_the_work_directory(networked, name):
    before, asked, files, place = PLACES[name]
    answer = call(networked, f"{NPM}{before} console.log(npm('{asked}'))", None, language="javascript", files=files,
                  timeout_seconds=25)
    assert answer.text == place, answer.texts


def test_a_first_command_installs_and_the_program_finds_it(networked):
    code = NPM + "npm('install', '--offline', './p'); console.log(require('p'))"
    answer = call(networked, code, None, language="javascript", files=[PACKAGE, INDEX], timeout_seconds=25)
    assert answer.text == "found", answer.texts
    first = Session(networked, NPM + "npm('install', '--offline', './p');", language="javascript", files=[PACKAGE, INDEX],
                    timeout_seconds=25)
    assert first.call("require('p')").text == "'found'"


def test_an_empty_directory_for_packages_is_no_result(networked):
    answer = call(networked, "console.log(require('fs').readdirSync('.').join())", None, language="javascript")
    assert answer.text == "main.js,node_modules" and answer.files == []


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_without_a_network_or_npm_nothing_is_added(start_any, language):
    code = {"python": "import os; print(','.join(sorted(os.listdir())))",
            "javascript": "console.log(require('fs').readdirSync('.').join())"}[language]
    assert call(start_any(language), code, None, language=language).text == {"python": "main.py", "javascript": "main.js"}[language]


def test_python_with_a_network_has_its_work_directory_as_before(start, images):
    assert "python" in images
    server = start("--network", "on")
    server.initialize()
    assert call(server, "import os; print(os.listdir())", None).text == "['main.py']"


def test_a_package_for_the_user_is_found_by_the_next_call(python_server):
    session = Session(python_server, "import site, os\nplace = site.getusersitepackages()\n"
                                     "open(os.path.join(place, 'late_one.py'), 'w').write('x = 5');")
    assert session.call("import late_one; late_one.x").text == "5"


@pytest.mark.thorough
def test_a_venv_has_pip(server, images):
    """Without a network: from the wheels of the image, which python-slim lacks."""
    assert "python" in images
    answer = call(server, "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'venv', 'v'], check=True)\n"
                          "print(subprocess.run(['v/bin/pip', '--version'], capture_output=True, text=True).stdout.split()[0])",
                  None, timeout_seconds=30)
    assert answer.text.startswith("pip"), answer.texts
