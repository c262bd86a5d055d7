"""Sessions in Bash go on where the call before was: in its directory, with its exported variables, and nothing else."""

import pytest

from support.sessions import Session


@pytest.fixture
def session(python_server):
    return Session(python_server, language="bash")


def test_directory_and_exported_variables_are_kept(session):
    session.call("mkdir -p 'a b' && cd 'a b' && export X=$'one\\n\"two\" $three' && y=1 && f() { :; }")
    assert session.call('basename "$PWD"; printf %s "$X"; echo "${y-none}"; type -t f || echo gone').text == \
        'a b\none\n"two" $threenone\ngone'
    assert session.call("cd - >/dev/null; pwd; bash -c 'echo ${X:0:3}'").text.splitlines()[-1] == "one"


def test_an_unset_variable_stays_unset_and_an_unexported_one_goes(session):
    session.call("export A=1 B=2; unset LANG")
    session.call("unset A; export -n B")
    assert session.call("echo ${A-none} ${B-none} ${LANG-none}").text == "none none none"


@pytest.mark.parametrize("end", ["exit 3", "false", "set -eu; cd /; false", "kill -INT $$", "trap 'echo mine' EXIT; exit 3",
                                 "trap 'echo mine; exit 4' EXIT", "trap 'cd /' EXIT; trap - EXIT", "set -x; set +x",
                                 "(cd /; exit 1)", "(trap 'echo sub' EXIT; cd /)", "IFS=/; set -f", "set -o posix", "export POSIXLY_CORRECT=1",
                                 "printf() { :; }; export -f printf"])
def test_whatever_ends_the_call(session, end):
    expected = "/" if end.startswith("set -eu") else "d"
    session.call(f"mkdir d; cd d; export X=1\n{end}")
    assert session.call('basename "$PWD"; echo $X').text == f"{expected}\n1"


def test_the_end_of_a_script_is_its_own(session):
    answer = session.call("trap 'echo end $?' EXIT\ntrap -p EXIT >/dev/null\nexit 5")
    assert answer.text.startswith("end 5") and answer.record["exit_code"] == 5
    assert session.call("exit 7").record["exit_code"] == 7
    assert session.call("set -x; :").texts[0].count("__sandbox") == 0


def test_a_timed_out_call_keeps_what_it_had(session):
    answer = session.call("mkdir d; cd d; export X=1; sleep 60", timeout_seconds=1)
    assert answer.record["outcome"] == "timed_out"
    assert session.call('basename "$PWD"; echo $X').text == "d\n1"


def test_a_directory_that_is_gone_is_told(session):
    session.call("mkdir d; cd d")
    answer = session.call("cd ..; rmdir d; mkdir e; cd e; rmdir ../e")
    answer = session.call("pwd")
    assert "/e is gone; this call begins in" in "\n".join(answer.texts)


def test_no_trace_of_how_it_is_done(session):
    session.call("export X=1")
    text = session.call("env; compgen -v; ls -a; echo $0").text
    assert "BASH_ENV" not in text and "CODE_SANDBOX" not in text and text.endswith("main.sh")


def test_a_file_of_the_operator_is_read_first(start_python, tmp_path):
    server = start_python("--env", "bash:BASH_ENV=/work/mine")
    session = Session(server, "echo 'echo read' >/work/mine", language="bash")
    assert session.call("echo $BASH_ENV; bash -c :").text == "read\n/work/mine\nread"


def test_error_messages_name_the_file_and_line(session):
    assert "main.sh: line 2: nothing_such: command not found" in "\n".join(session.call("\nnothing_such").texts)
