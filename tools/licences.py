# SPDX-License-Identifier: MIT OR Apache-2.0
"""Licences, sources and advisories of all linked crates, checked against deny.toml, and the licence texts that we ship."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

from tools.shell import ROOT, BuildError, run, say

#: Pattern of the names of licence files.
TEXT = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)", re.IGNORECASE)
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def check() -> None:
    """Runs cargo-deny if it is installed; otherwise checks cargo's own description of the crates."""
    if shutil.which("cargo-deny"):
        run(["cargo", "deny", "check", "licenses", "bans", "sources", "advisories"])
        return
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    wrong = []
    packages = _metadata("--all-features")["packages"]
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if package["source"] not in (None, CRATES_IO):
            wrong.append(f"{name} comes from {package['source']}")
        if not allows(package["license"] or "", allowed):
            wrong.append(f"{name} is under '{package['license']}', which deny.toml does not allow")
    if wrong:
        raise BuildError("\n".join(wrong))
    say(f"{len(packages)} crates, all under licences and from sources that deny.toml allows")


def allows(expression: str, allowed: set[str]) -> bool:
    """Returns whether an SPDX expression can be met with the allowed licences ('/' is an old way to write OR)."""
    words = re.findall(r"[()]|[^\s()]+(?:\s+WITH\s+[^\s()]+)?", expression.replace("/", " OR "))

    def parse_or() -> bool:
        result = parse_and()
        while words and words[0] == "OR":
            words.pop(0)
            result = parse_and() or result
        return result

    def parse_and() -> bool:
        result = parse_term()
        while words and words[0] == "AND":
            words.pop(0)
            result = parse_term() and result
        return result

    def parse_term() -> bool:
        word = words.pop(0) if words else ""
        if word != "(":
            return word in allowed
        result = parse_or()
        return bool(words) and words.pop(0) == ")" and result

    return bool(words) and parse_or() and not words


def texts() -> str:
    """Returns the licences of all crates linked into the wheel on any platform, each text once with its crates."""
    metadata = _metadata("--features", "python")
    packages = {package["id"]: package for package in metadata["packages"]}
    by_text: dict[str, list[str]] = {}
    linked = [packages[identity] for identity in _linked_packages(metadata)]
    # Versions of a crate are sorted, too, so that the text is the same in every process.
    for package in sorted(linked, key=lambda package: (package["name"], package["version"])):
        for text in _own_texts(package) or _standard_texts(package):
            by_text.setdefault(text, []).append(f"{package['name']} {package['version']} ({package['license']})")
    parts = ["Thew contains these libraries. Each is followed by its licence.\n"]
    for text, names in by_text.items():
        parts.append("\n".join(["=" * 80, *names, "-" * 80, "", text, ""]))
    return "\n".join(parts)


def holders(text: str) -> list[str]:
    """Returns the copyright holders that licences name, as Blender's manifest wants them: years, then the name. Sorted, each once."""
    found = set()
    line = re.compile(r"(?im)^\s*Copyright \(c\) (\d{4})(?:[-, ]+(\d{4}|present))?,? +([^\n]*[a-z][^\n]*)$")
    beside = re.compile(r"\s*<.*?>|\s*https?://\S+|\s*\[.*?\]|\.? +All( rights.*)?$| and The University$")
    for first, last, rest in line.findall(text):
        if name := beside.sub("", rest).strip(" .,"):
            found.add(f"{first}-{last} {name}" if last.isdigit() else f"{first} {name}")
    return sorted(found)


def _linked_packages(metadata: dict) -> set[str]:
    """Returns the package's direct and indirect run-time dependencies."""
    needs = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    found, waiting = set(), [metadata["resolve"]["root"]]
    while waiting:
        for needed in needs[waiting.pop()]:
            if any(kind["kind"] is None for kind in needed["dep_kinds"]) and needed["pkg"] not in found:
                found.add(needed["pkg"])
                waiting.append(needed["pkg"])
    return found


def _own_texts(package: dict) -> list[str]:
    """Returns the licence files in a crate."""
    folder = Path(package["manifest_path"]).parent
    files = [file for file in sorted(folder.iterdir()) if TEXT.match(file.name) and file.is_file()]
    return [file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip() for file in files]


def _standard_texts(package: dict) -> list[str]:
    """Returns the standard text of a licence with the crate's authors, for a crate without a licence file."""
    authors = ", ".join(re.sub(r"\s*<.*?>", "", author) for author in package["authors"])
    names = package["license"] or ""
    for name, file in (("MIT", "LICENSE-MIT"), ("Apache-2.0", "LICENSE-APACHE")):
        if re.search(rf"\b{name}\b", names):
            text = (ROOT / file).read_text(encoding="utf-8").strip()
            return [
                re.sub(r"(?m)^Copyright .*$", f"Copyright (c) {authors or 'the authors of ' + package['name']}", text)
            ]
    raise BuildError(f"{package['name']} {package['version']} brings no licence text, and '{names}' has none here.")


def _metadata(*features: str) -> dict:
    command = ["cargo", "metadata", "--format-version", "1", "--locked", *features]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(done.stderr.strip())
    return json.loads(done.stdout)
