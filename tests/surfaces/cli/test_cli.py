"""The command line as a person and a script see it: real processes, real files, exit statuses that tell the truth."""

import json
import signal
import time

import pytest
from support.cli_home import begun, calls, stopped

READ = ("read", {"filePath": "hello.txt"})


def test_a_prompt_is_answered_on_standard_output_and_accounted_for_beside_it(home):
    model = home.script(calls(READ), {"text": "It says hello."})
    done = home.run("run", "--model", model, "--steps", "25", "what", "is", "there?")
    assert (done.returncode, done.stdout) == (0, "It says hello.\n")
    lines = done.stderr.splitlines()
    assert lines[1:] == [
        "step 1/25",
        '  read {"filePath":"hello.txt"}',
        "step 2/25",
        lines[-1],
    ]
    assert lines[-1].startswith("answered: 2 steps, 1 call, ")


def test_the_prompt_also_comes_from_standard_input(home):
    code, lines = home.json("--model", home.script({"text": "ok"}), "review this", given="a diff")
    session = lines[0]["session"]
    assert code == 0
    assert "> review this\n\na diff" in home.run("show", session).stdout


def test_json_lines_tell_the_whole_story_and_end_with_the_result(home):
    model = home.script(
        {"reasoning": "hm", "text": "Looking.", **calls(READ)},
        {"error": {"message": "busy", "status": 503, "headers": {"retry-after-ms": "500"}}},
        calls(READ),
        calls(READ),
    )
    code, lines = home.json("--model", model, "--steps", "4", "go")
    kinds = [line["type"] for line in lines]
    assert code == 3
    assert kinds == [
        *["session", "status", "step_start", "tool_use", "reasoning", "text", "step_finish", "tool_use"],
        *["step_start", "retry", "status", "status", "tool_use", "step_finish", "tool_use"],
        *["step_start", "tool_use", "step_finish", "tool_use"],
        *["notice", "step_start", "text", "sentinel", "status", "result"],
    ]
    result = lines[-1]
    assert {
        *("type", "session", "reason", "text", "output", "steps", "tool_calls", "tokens", "cost", "seconds"),
        *("files", "denied"),
    } <= set(result)
    assert result["reason"] == "doom_loop"
    retry = next(line for line in lines if line["type"] == "retry")
    assert (retry["attempt"], retry["message"], retry["status"]) == (1, "busy", 503)


def test_the_step_cap_shows_its_notice_and_its_sentinel_and_exits_3(home):
    replies = [calls(("grep", {"pattern": f"x{n}"})) for n in range(5)]
    done = home.run("run", "--model", home.script(*replies), "--steps", "5", "go")
    assert done.returncode == 3
    assert "! Step 4/5, 1 step remaining" in done.stderr
    assert "■ Step limit reached (5/5)" in done.stderr
    assert done.stdout.startswith("Step limit reached (5/5).")


USAGE = [
    (["--steps", "-1"], "--steps must not be negative, not -1"),
    (["--steps", "2.5"], "--steps must be a whole number, not 2.5"),
    (["--steps", "many"], "--steps must be a whole number, not 'many'"),
    (["--max-cost", "0"], "--max-cost must be more than 0: leave it out for no limit"),
    (["--max-seconds", "inf"], "--max-seconds must be finite, not inf"),
    (["--max-tool-calls", "true"], "--max-tool-calls must be a whole number, not 'true'"),
    (["--tool", "bash"], "--tool must be NAME=on or NAME=off, not 'bash'"),
    (["--format", "xml"], "--format must be text or json, not 'xml'"),
    (["--on-ask", "maybe"], "--on-ask must be deny, pause or allow, not 'maybe'"),
    (["--file", "missing.txt"], "--file missing.txt cannot be read"),
    (["--dir", "nowhere"], "--dir nowhere is not a directory"),
    (["--session", "ses_none"], "there is no session ses_none"),
    (["--continue"], "--continue: there is no session in"),
]


@pytest.mark.parametrize(("flags", "words"), USAGE, ids=[row[0][0] + " " + row[0][-1] for row in USAGE])
def test_nonsense_is_refused_by_name_in_one_sentence(home, flags, words):
    done = home.run("run", "--model", home.script({"text": "never"}), *flags, "go")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_no_prompt_and_no_model_say_what_to_do(home):
    assert "no prompt: give one as in" in home.run("run").stderr
    done = home.run("run", "go", BRIDLE_BEHAVIOR__EMBEDDED="false")
    assert (done.returncode, "no model is available. Do one of the following:" in done.stderr) == (2, True)


def test_a_cost_limit_without_a_price_is_refused_with_the_way_out(home):
    model = home.script({"text": "hi"})
    code, lines = home.json("--model", model, "--max-cost", "1", "go")
    assert (code, lines[-1]["reason"]) == (2, "error")
    assert f'set [models."{model}"] price' in lines[-1]["detail"]
    config = home.folder / ".config" / "bridle" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[models."{model}"]\nprice = {{ input = 1.0, output = 2.0 }}\n')
    code, lines = home.json("--model", model, "--max-cost", "1", "go")
    assert (code, lines[-1]["reason"], lines[-1]["cost"] > 0) == (0, "answered", True)


def test_continue_opens_a_new_turn_in_the_last_session_of_the_directory(home):
    _, first = home.json("--model", home.script({"text": "one"}), "go")
    _, second = home.json("--model", home.script({"text": "two"}), "--continue", "continue")
    assert first[0]["session"] == second[0]["session"]
    assert home.run("sessions").stdout.count("ses_") == 1
    shown = home.run("show", first[0]["session"]).stdout
    assert [line for line in shown.splitlines() if line] == [
        *["> go", "step 1/200", "one", next(line for line in shown.splitlines() if line.startswith("answered"))],
        *["> continue", "step 1/200", "two", [line for line in shown.splitlines() if line.startswith("answered")][-1]],
    ]


def test_headless_an_ask_is_denied_and_the_exit_status_says_so(home):
    model = home.script(calls(("bash", {"command": "touch made"})), {"text": "I was not allowed."})
    code, lines = home.json("--model", model, "go")
    assert (code, lines[-1]["reason"], lines[-1]["denied"]) == (4, "answered", True)
    assert not (home.project / "made").exists()


def test_a_pause_leaves_with_5_and_an_answer_drives_it_on(home):
    model = home.script(calls(("bash", {"command": "touch made && echo yes"})), {"text": "Made."})
    code, lines = home.json("--model", model, "--on-ask", "pause", "go")
    (ask,) = [line for line in lines if line["type"] == "ask"]
    assert (code, lines[-1]["reason"], ask["text"]) == (5, "paused", "Allow bash: touch made; bash: echo yes?")
    assert "paused" in home.run("sessions").stdout
    wrong = home.run("answer", ask["session"], "nothing", "once")
    assert (wrong.returncode, "open asks: " + ask["id"] in wrong.stderr) == (2, True)
    done = home.run("answer", ask["session"], ask["id"], "once")
    assert (done.returncode, done.stdout) == (0, "Made.\n")
    assert (home.project / "made").exists()


def test_tools_work_on_the_project_and_changed_files_are_named(home):
    model = home.script(
        calls(READ, ("glob", {"pattern": "*.txt"}), ("grep", {"pattern": "wor"})),
        calls(("edit", {"filePath": "hello.txt", "oldString": "world", "newString": "Bridle"})),
        calls(("write", {"filePath": "new/file.txt", "content": "fresh\n"})),
        {"text": "Changed."},
    )
    code, lines = home.json("--model", model, "go")
    outputs = [line["output"] for line in lines if line["type"] == "tool_use" and "output" in line]
    assert code == 0
    assert sorted(outputs[:3]) == ["     1\thello\n     2\tworld", "hello.txt", "hello.txt:2:world"]
    assert lines[-1]["files"] == ["hello.txt", "new/file.txt"]
    assert (home.project / "hello.txt").read_text() == "hello\nBridle\n"


def test_ctrl_c_aborts_the_turn_and_keeps_everything(home):
    model = home.script({"text": "thinking about it", "chunk": 1, "pace": 0.2})
    process = home.start("run", "--model", model, "go")
    session = process.stderr.readline().split()[1]
    while "step 1" not in process.stderr.readline():
        pass
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, beside = process.communicate(timeout=60)
    assert (process.returncode, "■ Aborted" in beside) == (130, True)
    assert "think" in home.run("show", session).stdout


def test_a_killed_run_is_interrupted_and_resume_ends_it_without_repeating(home):
    slow = calls(("bash", {"command": "echo ran >> runs; sleep 0.2"}), READ)
    model = home.script(slow, {"text": "half", "hang": True}, then={"text": "All done."})
    config = home.folder / ".config" / "bridle" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permission]\nbash = "allow"\n')
    process = home.start("run", "--format", "json", "--model", model, "go")
    for line in process.stdout:
        if '"step_start"' in line and '"number":2' in line:
            break
    process.kill()
    process.communicate()
    session = json.loads(line)["session"]
    assert f"{session}  " in home.run("sessions").stdout and "interrupted" in home.run("sessions").stdout
    home.script(slow, then={"text": "All done."})
    done = home.run("resume", session)
    assert (done.returncode, done.stdout) == (0, "All done.\n")
    assert (home.project / "runs").read_text() == "ran\n"
    assert "has nothing to resume" in home.run("resume", session).stderr


def test_abort_and_extend_reach_the_process_that_holds_the_session(home):
    replies = [{"delay": 2.0, **calls(("grep", {"pattern": f"x{n}"}))} for n in range(30)]
    process = home.start("run", "--format", "json", "--model", home.script(*replies), "--steps", "9", "go")
    session = begun(process)
    extended = home.run("extend", session, "--steps", "+20")
    assert (extended.returncode, extended.stdout) == (0, "steps +20\n")
    assert any('"step_start"' in line and '"cap":29' in line for line in process.stdout)
    assert home.run("abort", session).stdout == f"session {session} is aborted\n"
    rest, _ = process.communicate(timeout=60)
    assert (process.returncode, json.loads(rest.splitlines()[-1])["reason"]) == (130, "aborted")


def test_a_second_process_hands_its_prompt_to_the_first(home):
    model = home.script({"text": "first", "delay": 0.5}, {"text": "second"})
    process = home.start("run", "--format", "json", "--model", model, "go")
    session = begun(process)
    with stopped(process):
        other = home.start("run", "--format", "json", "--session", session, "--model", model, "and this")
        assert '"session"' in other.stdout.readline()
    theirs, _ = other.communicate(timeout=60)
    rest, _ = process.communicate(timeout=60)
    assert (other.returncode, json.loads(theirs.splitlines()[-1])["text"]) == (0, "second")
    assert json.loads(rest.splitlines()[-1])["text"] == "first"


def test_a_damaged_journal_and_a_broken_script_are_told_in_one_sentence(home):
    path = home.folder / ".local" / "share" / "bridle" / "journal.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    done = home.run("run", "--model", home.script({"text": "hi"}), "go")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{path}: the journal is damaged" in done.stderr
    path.unlink()
    (home.folder / "bad.yaml").write_text("replies: [{text: [1]}]")
    done = home.run("run", "--format", "json", "--model", f"scripted:{home.folder / 'bad.yaml'}", "go")
    assert (done.returncode, "not a scenario" in done.stdout) == (2, True)
    assert json.loads(done.stdout.splitlines()[-1])["reason"] == "error"


def test_control_characters_never_reach_the_terminal(home):
    done = home.run("run", "--model", home.script({"text": "red \x1b[31m bell \x07 \u202e over"}), "go")
    assert done.stdout == "red �[31m bell � � over\n"


def test_a_log_says_each_step_and_each_ending(home):
    home.run("run", "--model", home.script({"text": "hi"}), "go")
    log = (home.folder / ".local" / "state" / "bridle" / "bridle.log").read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in log] == [
        "agent=build step 1/200",
        "agent=build finish reason=answered steps=1",
    ]
