"""The `question` tool: ask a person; the answer is the result. Its call never runs: the turn pauses instead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from bridle.core.permission import Access
from bridle.core.states import Ask
from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output


class Option(msgspec.Struct, forbid_unknown_fields=True):
    label: str
    description: str = ""


class Question(msgspec.Struct, forbid_unknown_fields=True):
    question: str
    header: str = ""
    options: list[Option] = []
    multiple: bool = False
    custom: bool = True


class QuestionArguments(msgspec.Struct, forbid_unknown_fields=True):
    questions: Annotated[list[Question], msgspec.Meta(description="What to ask", min_length=1, max_length=8)]


def put(given: QuestionArguments, id: str) -> Ask:
    """Return the questions as an `Ask`, with choices only for a single question that allows one choice."""
    texts = [_shown(number, question) for number, question in enumerate(given.questions, 1)]
    text = "\n".join(texts) if len(texts) > 1 else texts[0].removeprefix("1. ")
    single = given.questions[0] if len(given.questions) == 1 and not given.questions[0].multiple else None
    choices = tuple(option.label for option in single.options) if single is not None else ()
    return Ask(id, text, (Access("question", given.questions[0].question),), choices, kind="question")


def _shown(number: int, question: Question) -> str:
    head = f"{question.header}: " if question.header else ""
    more = " (several may be chosen)" if question.multiple else ""
    options = "".join(
        f"\n   {place}) {option.label}" + (f": {option.description}" if option.description else "")
        for place, option in enumerate(question.options, 1)
    )
    return f"{number}. {head}{question.question}{more}{options}"


def _needs(given: QuestionArguments, directory: Path) -> tuple[Access, ...]:
    return (Access("question", given.questions[0].question),)


async def _never(given: QuestionArguments, invocation: Invocation) -> Output:
    raise ToolFailed("a question is put by its turn, not by a call")


TOOL = builtin("question", QuestionArguments, _never, needs=_needs, question=put)
