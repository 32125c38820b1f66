# SPDX-License-Identifier: MIT OR Apache-2.0
"""The guide: every page is in a chapter, and the site that is made of them leads nowhere wrong and asks nothing of the network."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
import thew

from tools import docs
from tools.environments import DOCS
from tools.guide import chapters
from tools.guide.stage import stage
from tools.shell import ROOT, BuildError
from tools.stub import with_docstrings

needs_sphinx = pytest.mark.skipif(not DOCS.python.is_file(), reason="'build.py docs' makes its environment")


def write_pages(folder, listing, **pages):
    """Writes a folder docs with pages and chapters, and returns it."""
    own = folder / "docs"
    (own / "images").mkdir(parents=True)
    (own / "chapters.toml").write_text(listing)
    for name in chapters.ROOT_PAGES:
        (folder / name).write_text(f"# {name}\n\nText.\n")
    for name, text in {"README": "# Front\n\nText.\n", **pages}.items():
        file = own / f"{name.replace('_', '/')}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return own


def test_chapters_hold_every_page():
    """Every page of docs/ but the front page is in one chapter."""
    held = [page for chapter in chapters.read_chapters() for page in chapter.pages]
    pages = {file.relative_to(chapters.DOCS).as_posix() for file in chapters.DOCS.rglob("*.md")}
    assert sorted(held) == sorted((pages | set(chapters.ROOT_PAGES)) - {chapters.FRONT})


def test_chapters_refuse_wrong_listing(tmp_path):
    """A page that is missing, or in two places, is refused by its name."""
    entry = '[[chapter]]\ntitle = "A"\nabout = "B."\npages = [{}]\n'
    own = write_pages(tmp_path, entry.format('"gone.md"'), one="# One\n\nText.\n")
    with pytest.raises(ValueError, match=re.escape("docs/gone.md")):
        chapters.read_chapters(own)
    (own / "chapters.toml").write_text(entry.format('"one.md", "one.md"'))
    with pytest.raises(ValueError, match=re.escape("one.md is in two places")):
        chapters.read_chapters(own)


def test_chapters_pattern_takes_rest(tmp_path):
    """A pattern takes the pages that no chapter names, sorted by title."""
    listing = '[[chapter]]\ntitle = "A"\nabout = "B."\npages = ["how/*.md", "how/b.md"]\n'
    pages = {"how_a": "# Zebra\n\nT.\n", "how_b": "# Bear\n\nT.\n", "how_c": "# Ape\n\nT.\n"}
    (chapter,) = chapters.read_chapters(write_pages(tmp_path, listing, **pages))
    assert chapter.pages == ("how/c.md", "how/a.md", "how/b.md")


def test_stage_links_to_moved_pages(tmp_path):
    """Links to the front page and to pages of the root lead to their places in the site; a link out of it is refused."""
    listing = '[[chapter]]\ntitle = "A"\nabout = "B."\npages = ["how/a.md", "CONTRIBUTING.md", "CHANGELOG.md"]\n'
    text = (
        "# A\n\n[front](../README.md#x) [rules](../../CONTRIBUTING.md) [web](https://example.org) [b](../README.md).\n"
    )
    own = write_pages(tmp_path, listing, how_a=text)
    stage(tmp_path / "site", own)
    staged = (tmp_path / "site" / "how" / "a.md").read_text()
    assert "[front](../index.md#x) [rules](../CONTRIBUTING.md) [web](https://example.org)" in staged
    assert "chapters/a" in (tmp_path / "site" / "index.md").read_text()
    (own / "how" / "a.md").write_text("# A\n\n[code](../../src/lib.rs)\n")
    with pytest.raises(ValueError, match=re.escape("../../src/lib.rs")):
        stage(tmp_path / "again", own)


class Page(HTMLParser):
    """What a page of the site loads, links to, and can be linked at."""

    def __init__(self, file):
        super().__init__()
        self.loads, self.links, self.anchors = [], [], set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if found.get("src"):
            self.loads.append(found["src"])
        if found.get("href"):
            used = tag == "link" and found.get("rel") in {"stylesheet", "icon", "preload", "preconnect"}
            (self.loads if used else self.links).append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Builds the site, in which any warning fails, and returns its folder and its pages."""
    folder = tmp_path_factory.mktemp("guide")
    stub = (Path(thew.__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
    docs.build(with_docstrings(stub, thew), folder / "site", folder / "scratch")
    return folder / "site", {file: Page(file) for file in sorted((folder / "site").rglob("*.html"))}


@needs_sphinx
def test_site_links_lead_somewhere(site):
    """Every link, picture, style and script of the site exists, with its anchor; links are followed as a disk serves them."""
    _, pages = site
    assert len(pages) > 60
    for file, page in pages.items():
        for target in [*page.loads, *page.links]:
            if re.match(r"(https?|mailto|data):", target):
                continue
            path, _, anchor = unquote(target.split("?")[0]).partition("#")
            aim = (file.parent / path).resolve() if path else file
            assert aim.is_file(), f"{file.name}: {target}"
            if anchor and aim in pages:
                assert anchor in pages[aim].anchors, f"{file.name}: {target}"


@needs_sphinx
def test_site_loads_nothing_from_network(site):
    """Pages, styles and scripts load from the disk alone."""
    folder, pages = site
    for file, page in pages.items():
        assert not [target for target in page.loads if re.match(r"(https?:)?//", target)], file.name
    for file in folder.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?(https?:)?//", file.read_text(encoding="utf-8")), file.name


@needs_sphinx
def test_site_reaches_every_page(site):
    """Every page is linked from the front page's navigation, directly or by chapters."""
    folder, pages = site
    seen, left = set(), [folder / "index.html"]
    while left:
        file = left.pop()
        if file not in seen:
            seen.add(file)
            paths = (target.partition("#")[0] for target in pages[file].links if not re.match(r"[a-z]+:", target))
            left += [aim for aim in ((file.parent / unquote(path)).resolve() for path in paths if path) if aim in pages]
    assert seen == set(pages)


@needs_sphinx
def test_site_has_every_name_and_finds_it(site):
    """The reference has every public name of the package, and the search knows names and words, from a script on the disk."""
    folder, pages = site
    anchors = {anchor for file, page in pages.items() if file.parent.name == "api" for anchor in page.anchors}
    assert {f"thew.{name}" for name in thew.__all__ if not name.startswith("__")} <= anchors
    assert "thew.Body.with_softness" in anchors and "thew.Spacetime.__call__" in anchors
    index = (folder / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(")
    assert all(f'"{word}"' in index for word in ("belli", "bake", "softness"))


@needs_sphinx
def test_site_warning_fails(tmp_path):
    """A stub that cannot be rendered stops the build."""
    with pytest.raises(BuildError):
        docs.build("class Broken: ...\n", tmp_path / "site", tmp_path / "scratch")


@pytest.mark.parametrize("content", [None, b"x", b"PK\x05\x06" + bytes(18)])
def test_wheel_unreadable(tmp_path, content):
    """A wheel that is missing, no archive, or empty is refused by its name."""
    file = tmp_path / "thew.whl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BuildError, match=r"thew\.whl is no wheel of Thew"):
        docs.docs(file)


def test_cookbook_figures_measured():
    """Every recipe has its figures as its run measured them, and its picture."""
    measured = json.loads((chapters.DOCS / "cookbook" / "measured.json").read_text())
    pages = {file.stem: file.read_text(encoding="utf-8") for file in (chapters.DOCS / "cookbook").glob("*.md")}
    recipes = {name: found for name, found in measured.items() if name != "numbers"}
    for name, found in recipes.items():
        assert f"../images/cookbook-{name}.jpg" in pages[name]
        assert f"| {found['place']} | {found['before']:.0f} mm | {found['after']:.0f} mm |" in pages[name], name
    assert set(pages) == set(recipes)


def test_numbers_measured():
    """The tables of the page on numbers hold what the program measured."""
    page = (chapters.DOCS / "numbers.md").read_text(encoding="utf-8")
    numbers = json.loads((chapters.DOCS / "cookbook" / "measured.json").read_text())["numbers"]
    young, sway = numbers["young"], numbers["softness"]
    for value in sway:
        assert f"| {float(value):g} | {young[value]:,} | {sway[value]:.0f} |" in page
    for dial in ("settling", "reach", "cells_across", "poisson", "density"):
        text = ", ".join(f"{float(value):g}: {found:.0f} mm" for value, found in numbers[dial].items())
        assert f"| {text} |" in page, dial


def test_trouble_quotes_are_real():
    """Every sentence that the page on trouble quotes is one of the extension or of the package; … stands for names and numbers."""
    source = "".join(
        re.sub(r"\"\s*\n\s*f?\"", "", file.read_text(encoding="utf-8"))
        for folder, ending in (("blender_addon", "py"), ("python", "py"), ("src", "rs"))
        for file in sorted((ROOT / folder).rglob(f"*.{ending}"))
    )
    page = (chapters.DOCS / "trouble.md").read_text(encoding="utf-8")
    quotes = re.findall(r"^\| “([^|]+)” \|", page, re.MULTILINE)
    assert len(quotes) > 20
    for quote in quotes:
        for part in (each.strip(" “”'.") for each in quote.split("…")):
            assert part in source, f"“{part}”"
