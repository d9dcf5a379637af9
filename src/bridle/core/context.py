"""Prepares text for the model: makes it encodable, estimates its tokens, adds attached files, cuts long outputs."""

from __future__ import annotations

from collections.abc import Sequence

from bridle.core.parts import File

CHARACTERS_PER_TOKEN = 4
TOKENS_OF_A_TOOL = 100
MAX_OUTPUT_LINES = 2_000
MAX_OUTPUT_BYTES = 50_000
ANSWERED = "The person answered: "
"""Precedes the answer to a question in the result of its call."""


def sound(text: str) -> str:
    """Replace lone surrogates, which file names and models may contain, so that the text can be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def estimate_tokens(count: int) -> int:
    """Return the estimated tokens of `count` characters, rounded up; used until the provider has counted."""
    return -(-count // CHARACTERS_PER_TOKEN)


def prompt_text(text: str, files: Sequence[File]) -> str:
    """Return a prompt with its text files as the model reads it; images and documents are sent separately."""
    if not files:
        return text
    attached = "\n\n".join(
        f'<file path="{file.path}"/>' if file.data else f'<file path="{file.path}">\n{file.text}\n</file>'
        for file in files
    )
    return f"{text}\n\n{attached}" if text else attached


def cap_output(output: str) -> tuple[str, bool]:
    """Return an output, cut to head and tail if it is too long for the model, and whether anything was left out."""
    lines = output.count("\n") + 1
    if lines <= MAX_OUTPUT_LINES and len(output) <= MAX_OUTPUT_BYTES // 4:
        return output, False
    raw = output.encode(errors="surrogatepass")
    if lines <= MAX_OUTPUT_LINES and len(raw) <= MAX_OUTPUT_BYTES:
        return output, False
    kept = output.split("\n")
    half = MAX_OUTPUT_LINES // 2
    head, tail = ("\n".join(kept[:half]), "\n".join(kept[-half:])) if lines > MAX_OUTPUT_LINES else (output, output)
    room = MAX_OUTPUT_BYTES // 2
    head = head.encode(errors="surrogatepass")[:room].decode(errors="ignore")
    tail = tail.encode(errors="surrogatepass")[-room:].decode(errors="ignore")
    left_out = len(raw) - len(head.encode()) - len(tail.encode())
    return f"{head}\n\n[… {left_out} bytes of {len(raw)} left out …]\n\n{tail}", True
