"""What is judged without I/O: rules, addresses, options, sizes, arguments, files, summaries."""

import pytest

from bridle.core.compaction import SUMMARY_HEAD, mechanical, serialized
from bridle.core.messages import (
    AssistantMessage,
    AssistantText,
    Attachment,
    Messages,
    ResultMessage,
    UserMessage,
    characters,
)
from bridle.core.permission import Access, Rule, covers, denied_outright, judge
from bridle.core.repair import Sound, read_arguments
from bridle.values.addresses import is_host, is_private_name, is_public
from bridle.values.media import media_of
from bridle.values.options import layered

READ = Access("read", "notes.md")


def test_without_a_rule_that_fits_the_default_holds():
    rules = [Rule("read", "*.env", "deny"), Rule("edit", "*", "deny")]
    assert [judge(rules, READ, default) for default in ("allow", "ask", "deny")] == ["allow", "ask", "deny"]


def test_the_bare_word_fits_a_pattern_for_it_and_its_arguments_also_where_only_the_beginning_is_known():
    rules = [Rule("bash", "git status *", "allow")]
    assert judge(rules, Access("bash", "git status"), "deny") == "allow"
    assert judge(rules, Access("bash", "git status", "open"), "deny") == "ask"
    assert judge(rules, Access("bash", "git stash", "open"), "deny") == "deny"


PASSES = [Rule("bash", "*", "allow"), Rule("bash", "rm *", "deny"), Rule("bash", "rm out/*", "allow")]


@pytest.mark.parametrize(
    ("pattern", "verdict"),
    [
        *(("tool rm a", "ask"), ("tool a", "allow"), ("tool rm out/a", "allow"), ("tool 'x; rm a'", "ask")),
        *(
            ("tool r\ufffd", "ask"),
            ("tool \ufffd", "allow"),
            ("tool x\ufffd", "allow"),
            ("tool rm out/\ufffd", "allow"),
        ),
        *(("tool " + "a " * 400, "allow"), ("tool " + "a " * 600, "ask")),
    ],
)
def test_a_program_that_may_run_its_words_is_judged_by_them(pattern, verdict):
    assert judge(PASSES, Access("bash", pattern, "passes")) == verdict
    assert judge([*PASSES, Rule("bash", "tool *", "allow")], Access("bash", pattern, "passes")) == "allow"
    assert judge(PASSES[:1], Access("bash", pattern, "passes")) == "allow"


@pytest.mark.parametrize(
    ("pattern", "verdict"),
    [
        *(("git --odd x push", "ask"), ("git --odd x log", "allow"), ("git " + "a " * 400, "allow")),
        ("git " + "a " * 600, "ask"),
    ],
)
def test_a_rule_against_a_command_of_a_program_is_looked_for_behind_options_that_are_not_known(pattern, verdict):
    rules = [Rule("bash", "*", "allow"), Rule("bash", "git push*", "deny")]
    assert judge(rules, Access("bash", pattern, "perhaps")) == verdict


@pytest.mark.parametrize(
    ("rules", "denied"),
    [
        ([], False),
        ([Rule("edit", "*", "deny")], False),
        ([Rule("read", "*", "deny")], True),
        ([Rule("*", "*", "deny")], True),
        ([Rule("read", "*.env", "deny")], False),
        ([Rule("read", "*", "deny"), Rule("read", "*", "ask")], False),
    ],
)
def test_a_tool_is_not_offered_if_every_use_of_it_is_denied(rules, denied):
    assert denied_outright(rules, "read") is denied


@pytest.mark.parametrize(
    ("saved", "access", "covered"),
    [
        (READ, READ, True),
        (READ, Access("edit", "notes.md"), False),
        (READ, Access("read", "other.md"), False),
        (Access("bash", "git push", always="git *"), Access("bash", "git pull"), True),
        (Access("bash", "git push", always="git *"), Access("bash", "git pull", "open"), False),
        (Access("external_directory", "/srv/*"), Access("external_directory", "/srv/a"), True),
        (Access("external_directory", "/srv/*"), Access("external_directory", "/srv/a", "any"), False),
    ],
)
def test_what_a_person_said_always_to_lets_the_same_pass(saved, access, covered):
    assert covers(saved, access) is covered


@pytest.mark.parametrize(
    ("text", "host"),
    [("example.com", True), ("example.com:8080", True), ("localhost", False), ("-a.com", False), ("a b.com", False)],
)
def test_names_of_hosts_have_a_dot_in_them(text, host):
    assert is_host(text) is host


def test_options_are_merged_deeply_and_the_later_layer_wins():
    below = {"thinking": {"budget": 1, "type": "on"}, "seed": 1}
    assert layered(below, {"thinking": {"budget": 2}}, {"seed": 2}) == {
        "thinking": {"budget": 2, "type": "on"},
        "seed": 2,
    }
    assert layered(below, {"thinking": "off"}) == {"thinking": "off", "seed": 1}


def test_a_document_weighs_what_it_holds_and_an_image_the_same_always():
    def weight(media, size):
        return characters(UserMessage("m", "", (Attachment("file", media, "x" * size),)))

    assert weight("image/png", 9) == weight("image/png", 90_000) == weight("application/pdf", 9)
    assert weight("application/pdf", 900_000) > weight("application/pdf", 9)


def test_messages_are_read_by_place_and_compared_as_a_whole():
    first, second = UserMessage("a", "one"), UserMessage("b", "two")
    messages = Messages([first, second])
    assert (messages[-1], messages[0], messages[:1]) == (second, first, [first])
    assert messages == Messages([first, second])
    with pytest.raises(IndexError):
        messages[2]
    with pytest.raises(IndexError):
        messages[-3]


def test_half_a_character_in_mended_arguments_is_made_whole_wherever_it_stands():
    half = {"a": ["\ud83d", {"\ud83d": 1}], "b": True}
    whole = {"a": ["?", {"?": 1}], "b": True}
    note = "the arguments were not valid JSON and were repaired"
    assert read_arguments(r'{"a": ["\ud83d", {"\ud83d": 1}], "b": true}', lambda text: half) == Sound(whole, note)


def test_what_a_repairer_takes_for_a_number_and_nothing_could_write_down_is_none():
    given = {"a": float("inf"), "b": [float("nan"), -float("inf"), 1.5]}
    note = "the arguments were not valid JSON and were repaired"
    assert read_arguments('{"a": Infinity}', lambda text: given) == Sound({"a": None, "b": [None, None, 1.5]}, note)


@pytest.mark.parametrize(
    ("content", "media"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR12345678", "image/png"),
        (b"\xff\xd8\xff12345678", "image/jpeg"),
        (b"GIF89a1234567", "image/gif"),
        (b"RIFF1234WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7\n", "application/pdf"),
        (b"PNG, says the name", ""),
        (b"", ""),
    ],
)
def test_files_to_look_at_are_known_by_their_first_bytes(content, media):
    assert media_of(content) == media


def test_addresses_are_public_by_their_numbers_and_names_by_their_ends():
    assert [
        is_public(number) for number in ("1.1.1.1", "127.0.0.1", "fe80::1%eth0", "64:ff9b::a00:1", "224.0.0.1")
    ] == [
        True,
        *[False] * 4,
    ]
    names = ("example.com", "1.1.1.1", "10.0.0.1", "intranet", "printer.local")
    assert [is_private_name(name) for name in names] == [False, False, True, True, True]


def test_a_summary_from_the_record_takes_up_the_one_before_it_and_leaves_out_the_oldest_lines():
    messages = [
        UserMessage("c", f"{SUMMARY_HEAD}\n\nmuch was done", kind="summary"),
        UserMessage("p", "go on"),
        AssistantMessage("a", (AssistantText("I will"),)),
        AssistantMessage("b", ()),
        ResultMessage("r", "r", "look", "no such file", True),
    ]
    head = "Written by Bridle from the record, since the model gave no summary.\nmuch was done\n"
    every = "- the user said: go on\n- the assistant said: I will\n  failed: no such file"
    assert mechanical(messages, 1_000) == head + every
    assert mechanical(messages, 40) == f"{head}(2 earlier lines are left out)\n  failed: no such file"


def test_a_prompt_with_the_words_of_a_summary_is_no_summary():
    words = f"{SUMMARY_HEAD} that is what it said"
    messages = [UserMessage("p", words)]
    head = "Written by Bridle from the record, since the model gave no summary."
    assert mechanical(messages, 1_000) == f"{head}\n- the user said: {words}"
    whole, short = (
        len(serialized([UserMessage("p", words.ljust(9_000, "."), kind=kind)], 100_000)) for kind in ("summary", "told")
    )
    assert short < 4_100 < 9_000 < whole
