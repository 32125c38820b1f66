# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages for the artist when something cannot be done."""

import re


class Refusal(Exception):
    """One sentence that names the object and the remedy; nothing was changed."""


class Cancelled(Exception):
    """The artist pressed Esc; nothing was changed."""


def sentence(text: str) -> str:
    """Returns `text` as one line that starts with a capital and ends with a full stop. Paths of files and words such as glTF stay."""
    text = " ".join(str(text).split())
    if not text:
        return "Something went wrong, and no reason was given."
    if not re.match(r"\S*[./\\]\S|[a-z]+[A-Z]", text):
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) else text + "."
