# SPDX-License-Identifier: GPL-3.0-or-later
"""What the artist is told when something cannot be done."""


class Refusal(Exception):
    """One sentence that names the object and says what to do; nothing was changed."""


class Cancelled(Exception):
    """The artist pressed Esc; nothing was changed."""


def sentence(text: str) -> str:
    """`text` as one line that starts with a capital and ends with a full stop."""
    text = " ".join(str(text).split())
    if not text:
        return "Something went wrong, without a word of explanation."
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."
