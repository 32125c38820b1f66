# SPDX-License-Identifier: GPL-3.0-or-later
"""The room that a text takes in a panel, in letters of English: signs of Chinese and Japanese are twice as wide."""

from __future__ import annotations

import re
import unicodedata

#: Signs that no line begins with.
CLOSING = "、。，．：；！？」』）】》〉”’…"
#: A wide sign with what must stay behind it, or letters between two of them: lines may break between such pieces.
PIECE = re.compile(
    rf"[「『（【《〈“‘]*[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uff60][{CLOSING}]*|[^\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uff60]+"
)


def text_width(text: str) -> int:
    """Returns the width of a text in letters."""
    if text.isascii():
        return len(text)
    return len(text) + sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)


def cut(text: str, width: int) -> str:
    """Returns the longest beginning of a text that is not wider than `width`."""
    while text_width(text) > width:
        text = text[:-1]
    return text


def pieces(word: str) -> list[str]:
    """Returns the parts of a word between which a line may break: the word itself, unless it has wide signs."""
    return [word] if word.isascii() else PIECE.findall(word) or [word]
