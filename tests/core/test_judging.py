"""What is judged without I/O: rules, addresses, options, sizes, arguments."""

import pytest

from bridle.core.addresses import is_host
from bridle.core.messages import Attachment, Messages, UserMessage, characters
from bridle.core.options import layered
from bridle.core.permission import Access, Rule, covers, denied_outright, judge
from bridle.core.repair import Sound, read_arguments

READ = Access("read", "notes.md")


def test_without_a_rule_that_fits_the_default_holds():
    rules = [Rule("read", "*.env", "deny"), Rule("edit", "*", "deny")]
    assert [judge(rules, READ, default) for default in ("allow", "ask", "deny")] == ["allow", "ask", "deny"]


def test_the_bare_word_fits_a_pattern_for_it_and_its_arguments_also_where_only_the_beginning_is_known():
    rules = [Rule("bash", "git status *", "allow")]
    assert judge(rules, Access("bash", "git status"), "deny") == "allow"
    assert judge(rules, Access("bash", "git status", "open"), "deny") == "ask"
    assert judge(rules, Access("bash", "git stash", "open"), "deny") == "deny"


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
