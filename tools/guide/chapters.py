# SPDX-License-Identifier: MIT OR Apache-2.0
"""The chapters of the guide. Plain Python: tests read them, too."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.shell import ROOT

DOCS = ROOT / "docs"
#: Pages of the repository's root that are in the guide, too.
ROOT_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")
#: The first page, which is no page of a chapter.
FRONT = "README.md"


@dataclass(frozen=True)
class Chapter:
    """A chapter of the guide, with its pages in the order in which they are read."""

    title: str
    #: One sentence below the title.
    about: str
    #: Paths in `docs/` or names of `ROOT_PAGES`.
    pages: tuple[str, ...]
    #: Its own page shows the first picture of each page.
    pictures: bool = False
    #: Holds the generated pages of the Python package's names as well.
    api: bool = False

    @property
    def name(self) -> str:
        """Returns the name of the chapter's own page."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")


def read_chapters(docs: Path = DOCS) -> list[Chapter]:
    """Reads `chapters.toml`. A pattern in `pages` takes what no chapter names, sorted by title.

    Raises ValueError for a page that is missing, or is in two chapters.
    """
    entries = tomllib.loads((docs / "chapters.toml").read_text(encoding="utf-8"))["chapter"]
    named = [page for entry in entries for page in entry["pages"] if "*" not in page]
    for page in named:
        if not _file(docs, page).is_file():
            raise ValueError(f"docs/chapters.toml: there is no page docs/{page}.")
        if named.count(page) > 1:
            raise ValueError(f"docs/chapters.toml: {page} is in two places.")
    chapters = []
    for entry in entries:
        pages: list[str] = []
        for page in entry["pages"]:
            others = [file.relative_to(docs).as_posix() for file in docs.glob(page)] if "*" in page else []
            others = sorted(set(others) - {*named, FRONT}, key=lambda other: read_title(_file(docs, other)).lower())
            pages += others if "*" in page else [page]
        chapters.append(
            Chapter(entry["title"], entry["about"], tuple(pages), entry.get("pictures", False), entry.get("api", False))
        )
    return chapters


def read_title(page: Path) -> str:
    """Returns the first heading of a page."""
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        raise ValueError(f"{page} has no title.")
    return found[1].strip()


def read_opening(page: Path) -> str:
    """Returns the first sentence of a page, without links and without a label such as "What it does."."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    paragraphs = [part.strip() for part in text.partition("\n# " if text[:2] != "# " else "# ")[2].split("\n\n")[1:]]
    first = next((part for part in paragraphs if re.match(r"[A-Za-z*`“]", part)), "")
    first = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(first.split()))
    first = re.sub(r"^\*\*[^*]+\.\*\*\s*", "", first)
    # A sentence ends before a capital; "St. Venant" goes on.
    return re.split(r"(?<=[a-z0-9)*`]{2}[.:])\s|(?<=[a-z0-9)*`]{2}[.])$", first, maxsplit=1)[0].rstrip(":.") + "."


def read_picture(page: Path) -> str:
    """Returns the first picture of a page as Markdown, or ""."""
    found = re.search(r"!\[[^\]]*\]\([^)]+\)", page.read_text(encoding="utf-8"))
    return found[0] if found else ""


def _file(docs: Path, page: str) -> Path:
    return docs.parent / page if page in ROOT_PAGES else docs / page
