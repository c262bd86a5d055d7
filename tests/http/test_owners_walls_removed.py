"""Takes away each wall between clients, and between a session and its folders or the time between calls; tests notice."""

import shutil

import pytest

from support.altered import ROOT, Altered

pytestmark = pytest.mark.thorough

OWNERS, FOLDERS = ROOT / "tests/http/test_owners.py", ROOT / "tests/protocol/test_session_folders.py"
CALLS = ROOT / "tests/http/test_calls.py"
ENDS = ROOT / "tests/protocol/test_session_ends.py"
# (tests that notice, file, what stands there once, what stands there instead)
WALLS = {
    "sessions": (OWNERS, "interpreter/session_table.c", "while (entry != NULL && (entry->owner != owner || ", "while (entry != NULL && (false || "),
    "ended sessions": (OWNERS, "interpreter/session_table.c", "if (table->ended[i].owner == owner && ", "if ("),
    "room for sessions": (OWNERS, "interpreter/session_table.c", "owner == NULL || entry->owner == *owner", "true || owner"),
    "sessions in lists": (OWNERS, "mcp/resources/resource_sessions.c", "if (entry->owner == owner)", "if (owner < 1000)"),
    "sessions in errors": (OWNERS, "interpreter/session_text.c", "if (entry->owner != owner || ", "if ((owner > 1000) || "),
    "files": (OWNERS, "interpreter/files/kept_files.c", "bool is_it = call->owner == owner && ", "bool is_it = owner < 1000 && "),
    "files in lists": (OWNERS, "interpreter/files/kept_files.c", "if (call->owner == owner && call->number < number", "if (owner < 1000 && call->number < number"),
    "files in errors": (OWNERS, "interpreter/files/kept_files.c", "if (kept->calls[i].owner == owner && ", "if (owner < 1000 && "),
    "outputs": (OWNERS, "interpreter/result/outputs.c", "if (output->owner != owner)", "if (owner > 1000)"),
    "agreements": (OWNERS, "mcp/http/mcp_sessions.c", "(session->agreed.rpc.owner != owner || ", "(owner > 1000 || "),
    "answers to calls": (CALLS, "mcp/extension/functions.c", "(call->functions->owner != owner || ", "(owner > 1000 || "),
    "calls of another session": (CALLS, "mcp/tools/code_call.c", "strcmp(call->handle, handle) == 0 && !cell_is_queued(call->cell)", "handle[0] != '\\0'"),
    "a session that cannot be opened": (CALLS, "mcp/extension/sessions.c", "    r = begin_session(context, opening, entry, fault);\n",
                                        "    session_entry_make_room(entry, displaced);\n    r = begin_session(context, opening, entry, fault);\n"),
    "protected names before a call": (FOLDERS, "sandbox/session.c", "folder_guard_check(&session->run->guard, &fault)", "0"),
    "protected names after a command": (FOLDERS, "sandbox/session_command.c", "command->word == WORD_COMMAND && command->observer.done != NULL)", "false)"),
    "room for agreements": (OWNERS, "mcp/http/mcp_sessions.c", "size_t count = counts[session->agreed.rpc.owner];", "size_t count = 1;"),
    "room for subscriptions": (OWNERS, "mcp/subscriptions.c", "rpc_answer_rpc(open->answer)->owner == owner", "owner < 1000"),
    "nothing runs between calls": (ENDS, "sandbox/limits/polling_limiter.c", "if (!polling->expects_stop || ", "if (true || "),
    "nor at times": (ENDS, "sandbox/limits/polling_limiter.c", "has_stirred && activity.running == 0", "false && has_stirred"),
    "nor beside a stopped thread": (ENDS, "sandbox/limits/proc_activity.c", "(thread = directory_next_number(threads)) != NULL;",
                                    "(thread = process) != NULL; process = NULL"),
    "a call that waits was not read": (FOLDERS, "mcp/tools/code_call.c", "if (call->has_ended) /*", "if (true) /*"),
    "files that are not listed": (FOLDERS, "interpreter/folders/changes_since.c", "now->more_files > 0 || before->more_files > 0 ||", ""),
    "no call while a patch is made": (FOLDERS, "sandbox/session.c", "session->has_place || session->is_read)", "session->has_place)"),
}

# What the wall catches at once is caught without it when two samples in a row happen to see it run.
BY_CHANCE = {"nor at times"}


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("owners-walls")
    yield Altered(path, "python-slim")
    shutil.rmtree(path)


@pytest.mark.parametrize("wall", [None, *WALLS])
def test_the_tests_fail_without_the_wall_and_pass_with_all(altered, wall):
    tests, *change = WALLS[wall] if wall else (OWNERS,)
    altered.change([tuple(change)] if wall else [])
    altered.make("programs")
    chosen, part = ((["-x", "-k", "makes_itself"], "both") if tests == ENDS else ([], "gate"))
    status, output = altered.pytest(tests, *chosen, part=part)
    for _ in range(2):
        if status == 0 and wall in BY_CHANCE:
            status, output = altered.pytest(tests, *chosen, part=part)
    assert (status == 1 and " failed" in output) if wall else status == 0, output
