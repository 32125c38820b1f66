# SPDX-License-Identifier: MIT OR Apache-2.0
"""The documentation is true: its Python runs, the files that it names exist, its links lead somewhere."""

import os
import re
from pathlib import Path

import pytest

from tools import pictures
from tools.shell import ROOT

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
METHODS = sorted((ROOT / "docs" / "methods").glob("*.md"))
ALONE = [
    *METHODS,
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("choosing-a-method", "farm", "files", "python", "rigging", "rigs-from-shapes", "modal-warping")
    ),
]
#: Pages whose blocks go on from the ones before, as they say.
IN_ORDER = {"python.md"}
#: Folders whose files documentation may name by the end of their paths alone.
TREES = ("src", "tests", "benches", "examples", "blender_addon", "docs", "python", "tools", "demo", "fuzz", "assets")


def page_title(page):
    """Returns a page's name for the test."""
    return str(page.relative_to(ROOT))


def blocks(page, language):
    """Returns (line, code) of every fenced block in a language."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text[: one.start(1)].count("\n"), one[1]) for one in found]


@pytest.mark.parametrize("page", ALONE, ids=page_title)
def test_page_examples_run(page, tmp_path, monkeypatch):
    """Each Python block of a page runs by itself, as it is pasted; blocks of some pages run in order."""
    found = blocks(page, "python")
    assert found, "the page has an example"
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}  # as of a script: what is guarded runs too
    for line, code in found:
        # Empty lines in front, so that an error tells the line of the page.
        exec(compile("\n" * line + code, str(page), "exec"), names)
        if page.name not in IN_ORDER:
            names = {"__name__": "__main__"}


def test_options_of_commands_on_page():
    """The pages on files and on farms have every option of the commands of Blender and of the package."""
    for file, name in (
        ("blender_addon/operators/command_words.py", "files"),
        ("python/thew/__main__.py", "files"),
        ("python/thew/farm/command.py", "farm"),
    ):
        page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        options = set(re.findall(r'"(--[a-z-]+)"', (ROOT / file).read_text(encoding="utf-8"))) - {"--version"}
        assert len(options) > 4
        for option in options:
            assert re.search(rf"\|[^|]*`{option}[ `]", page), f"{option} of {file}"


def test_worked_template_is_tested():
    """The worked template of CONTRIBUTING.md is the one in the crate, which unit tests of all templates cover."""
    ((_, code),) = blocks(ROOT / "CONTRIBUTING.md", "rust")
    assert (ROOT / "src" / "rig" / "fields" / "vortex.rs").read_text(encoding="utf-8").endswith(code)


@pytest.mark.parametrize("page", METHODS, ids=page_title)
def test_method_pages_complete(page):
    """Every page of a method has all its parts."""
    text = page.read_text(encoding="utf-8")
    for part in ("**What", "| option |", "**Cost.**", "**Limits.**"):
        assert part in text, part
    assert "**Source.**" in text or "| source |" in text


@pytest.mark.parametrize("page", PAGES, ids=page_title)
def test_links_lead_somewhere(page):
    """Every link of a page leads to a file or to the web."""
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert re.match(r"https?://", target) or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=page_title)
def test_named_files_exist(page):
    """Every file that a page names exists."""
    every = {
        path.relative_to(ROOT).as_posix()
        for tree in TREES
        for path in (ROOT / tree).rglob("*")
        if "__pycache__" not in path.parts
    }
    every |= {path.name for path in ROOT.iterdir()} | {".ci/run"} | set(TREES)
    every |= {path.relative_to(ROOT).as_posix() for path in (ROOT / ".github").rglob("*")}
    ends = {name.rpartition("/")[2] for name in every}
    for word in re.findall(r"`([\w./*-]+)`", page.read_text(encoding="utf-8")):
        name = word.rstrip("/")
        if name.startswith(TREES) and "/" in name:
            named = name in every or f"{name}.rs" in every or any(Path(one).match(name) for one in every if "*" in name)
            assert named or name.startswith(("dist/", "docs/benches")), f"`{word}` does not exist"
        elif re.search(r"\.(py|rs|wgsl)$", name) and "*" not in name:
            assert os.path.basename(name) in ends, f"`{word}` does not exist"


@pytest.mark.parametrize("page", PAGES, ids=page_title)
def test_sources_in_references(page):
    """Every source that a page cites is in the list of references."""
    listed = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    for group in re.findall(r"\[([a-z]+\d{4}[^\]]*)\]", page.read_text(encoding="utf-8")):
        for source in re.findall(r"[a-z]+\d{4}", group):
            assert f"**{source}**" in listed, source


def test_pictures_have_maker_and_page():
    """Every picture of the documentation is made by a program of the project and stands on a page."""
    files = {file.name for file in pictures.IMAGES.iterdir() if file.suffix in {".png", ".jpg", ".webp"}}
    made = [name for maker in pictures.MAKERS for name in maker.pictures]
    linked = {name for page in PAGES for name in re.findall(r"images/([\w.-]+)\)", page.read_text(encoding="utf-8"))}
    assert sorted(made) == sorted(files)
    assert linked == files


def test_picture_outdated_by_program(tmp_path, monkeypatch):
    """A picture is out of date once the code of its program changes; a changed comment makes no difference."""
    (tmp_path / "demo").mkdir()
    program, imported = tmp_path / "demo" / "draw.py", tmp_path / "demo" / "colours.py"
    program.write_text("from demo import colours\nprint(colours.RED)\n")
    imported.write_text('"""Colours."""\nRED = 1\n')
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    maker = pictures.Maker(("drawing.png",), "demo.draw", "wheel")
    first = maker.digest()
    imported.write_text('"""Colours of the drawing."""\n# A warm one.\nRED = 1\n')
    assert maker.digest() == first
    imported.write_text('"""Colours."""\nRED = 2\n')
    assert maker.digest() != first


def test_picture_not_outdated_by_neighbour(tmp_path, monkeypatch):
    """Code that a program does not reach by name leaves its pictures as they are; code that it reaches through others does not."""
    for folder in ("demo", "assets"):
        (tmp_path / folder).mkdir()
    package, draw, helper = (
        tmp_path / "assets" / "__init__.py",
        tmp_path / "demo" / "draw.py",
        tmp_path / "assets" / "a.py",
    )
    draw.write_text("import assets\nfrom assets import a\ndef main():\n    return assets.ALL['x'](), a.Shape().size\n")
    package.write_text("from . import a, b\nALL = {'x': a.make}\nOTHERS = {'y': b.make}\n")
    (tmp_path / "assets" / "b.py").write_text("def make(): return 1\n")
    source = (
        "class Shape:\n    size = 1\n\ndef deep(): return 1\n\ndef make(): return deep()\n\ndef unused(): return 1\n"
    )
    helper.write_text(source + "if __name__ == '__main__':\n    print(unused())\n")
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    maker = pictures.Maker(("drawing.png",), "demo.draw", "wheel")
    first, files = maker.digest(), maker.sources()
    assert files == [package, helper, draw]
    (tmp_path / "assets" / "b.py").write_text("def make(): return 2\n")
    package.write_text(package.read_text() + "MORE = 1\n")
    helper.write_text(helper.read_text().replace("unused(): return 1", "unused(): return 2"))
    assert maker.digest() == first
    for old, new in (("size = 1", "size = 2"), ("deep(): return 1", "deep(): return 2")):
        helper.write_text(source.replace(old, new))
        assert maker.digest() != first, new
    helper.write_text(source + "Shape.size = 3\n")
    assert maker.digest() != first
    draw.write_text("from assets import a\ndef main():\n    return vars(a)\n")
    second = maker.digest()
    helper.write_text(source.replace("unused(): return 1", "unused(): return 2"))
    assert maker.digest() != second  # a module that is passed on counts as a whole


def test_picture_sources_in_a_circle(tmp_path, monkeypatch):
    """Packages and modules that import each other, or themselves, are followed once."""
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "__init__.py").write_text("from . import draw\nfrom .draw import main\n")
    (tmp_path / "demo" / "draw.py").write_text(
        "import demo\nfrom demo import draw\ndef main(): return demo.draw.main, draw\n"
    )
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    maker = pictures.Maker(("drawing.png",), "demo.draw", "wheel")
    assert [file.name for file in maker.sources()] == ["draw.py"] and maker.digest() == maker.digest()
