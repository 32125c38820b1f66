# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies the pages into the folder from which the site is made, adds a page for each chapter, and mends links to moved pages.

Pages keep their places, so that their links to each other serve a code host and the site alike.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from tools.guide.chapters import DOCS, FRONT, ROOT_PAGES, Chapter, read_chapters, read_opening, read_picture, read_title

LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def stage(target: Path, docs: Path = DOCS, api: tuple[str, ...] = ()) -> None:
    """Writes the sources of the site into a folder. `api`: names of pages in its `api`, for the chapter that holds them."""
    places = page_places(docs)
    shutil.copytree(docs / "images", target / "images", dirs_exist_ok=True)
    for page, place in places.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        (target / place).write_text(mend_links(page, places, docs), encoding="utf-8")
    (target / "chapters").mkdir(exist_ok=True)
    entries, abouts = {}, {}
    for chapter in read_chapters(docs):
        pages = [*chapter.pages, *(api if chapter.api else ())]
        if not pages:
            continue
        own = pages[0] if len(pages) == 1 else f"chapters/{chapter.name}.md"
        entries[own], abouts[chapter.title] = chapter.title, chapter.about
        if len(pages) > 1:
            (target / own).write_text(_chapter_page(chapter, pages, target), encoding="utf-8")
    front = target / "index.md"
    listing = "\n".join(f"- [{title}]({entry}): {abouts[title]}" for entry, title in entries.items())
    tree = _tree([f"{title} <{entry.removesuffix('.md')}>" for entry, title in entries.items()])
    front.write_text(f"{front.read_text(encoding='utf-8')}\n## Chapters\n\n{listing}\n\n{tree}", encoding="utf-8")


def page_places(docs: Path) -> dict[Path, str]:
    """Returns the place in the site's sources of every page."""
    places = {page: page.relative_to(docs).as_posix() for page in sorted(docs.rglob("*.md"))}
    return places | {docs.parent / name: name for name in ROOT_PAGES} | {docs / FRONT: "index.md"}


def mend_links(page: Path, places: Mapping[Path, str], docs: Path) -> str:
    """Returns the text of a page as it reads at its place in the site."""
    folder = Path(places[page]).parent

    def mend(link: re.Match[str]) -> str:
        if re.match(r"[a-z]+:", link[2]):
            return link[0]
        aim = Path(os.path.normpath(page.parent / link[2]))
        aim = docs / FRONT if aim == docs.parent / "README.md" else aim
        if aim not in places and not aim.is_relative_to(docs):
            raise ValueError(
                f"{page.name} links to {link[2]}, which is not in the guide: name the file in backticks instead."
            )
        place = places.get(aim) or aim.relative_to(docs).as_posix()
        return link[1] + Path(os.path.relpath(place, folder)).as_posix() + link[3]

    return LINK.sub(mend, page.read_text(encoding="utf-8"))


def _chapter_page(chapter: Chapter, pages: list[str], target: Path) -> str:
    """Returns the page of a chapter: what it is about, and its pages with the sentence that opens each."""
    rows = [(f"[{read_title(target / page)}](../{page})", read_opening(target / page)) for page in pages]
    head = ("page", "about")
    if chapter.pictures:
        # Pictures of pages one folder down have the same address from a chapter's page.
        rows = [(read_picture(target / page), *row) for page, row in zip(pages, rows, strict=True)]
        head = ("", *head)
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    tree = _tree([f"/{page.removesuffix('.md')}" for page in pages])
    return f"# {chapter.title}\n\n{chapter.about}\n\n{table}\n\n{tree}"


def _tree(entries: list[str]) -> str:
    """Returns the navigation to pages, which the theme shows at the side."""
    return "\n".join(["```{toctree}", ":hidden:", "", *entries, "```", ""])
