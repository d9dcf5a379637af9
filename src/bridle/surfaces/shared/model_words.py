"""`described`: a model in a few words, the same on every surface."""

from __future__ import annotations

from bridle.core.agent import ModelInfo


def described(info: ModelInfo) -> str:
    """Describe a model in a few words: context window, price, media types and variants."""
    window = f"{info.context_window // 1000:,}k tokens"
    price = f"${info.price.input:g} in, ${info.price.output:g} out" if info.price is not None else "price unknown"
    price = "no cost" if price == "$0 in, $0 out" else price
    sees = f", sees {' and '.join(sorted(info.takes))}" if info.takes else ""
    variants = f", variants {' '.join(info.variants)}" if info.variants else ""
    return f"{window}, {price}{sees}{variants}"
