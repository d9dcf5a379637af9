"""Text on its way to the model: made sound, measured, joined with its files, cut where it is too long."""

from __future__ import annotations

from collections.abc import Sequence

from bridle.core.parts import File

CHARACTERS_PER_TOKEN = 4
TOKENS_OF_A_TOOL = 100
MAX_OUTPUT_LINES = 2_000
MAX_OUTPUT_BYTES = 50_000


def sound(text: str) -> str:
    """Text that can be written: a half of a character, as a file name or a model may hold it, becomes a mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def estimate_tokens(count: int) -> int:
    """Tokens of so many characters, rounded up; a guess until the provider has counted."""
    return -(-count // CHARACTERS_PER_TOKEN)


def prompt_text(text: str, files: Sequence[File]) -> str:
    """A prompt with its files, as the model reads it; images and documents go beside it."""
    if not files:
        return text
    attached = "\n\n".join(
        f'<file path="{file.path}"/>' if file.data else f'<file path="{file.path}">\n{file.text}\n</file>'
        for file in files
    )
    return f"{text}\n\n{attached}" if text else attached


def cap_output(output: str) -> tuple[str, bool]:
    """Head and tail of an output that is too long for the model, and whether anything was left out."""
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
