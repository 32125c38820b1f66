# SPDX-License-Identifier: MIT OR Apache-2.0
"""Licences and sources of every crate that we link, held against deny.toml."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib

from tools.shell import ROOT, BuildError, run, say

CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def check() -> None:
    """Let cargo-deny do it where it is installed; otherwise read cargo's own description of the crates."""
    if shutil.which("cargo-deny"):
        run(["cargo", "deny", "check", "licenses", "bans", "sources"])
        return
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    wrong = []
    packages = _packages()
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
    """Whether an SPDX expression can be met with the allowed licences ('/' is an old way to write OR)."""
    words = re.findall(r"[()]|[^\s()]+(?:\s+WITH\s+[^\s()]+)?", expression.replace("/", " OR "))

    def either() -> bool:
        result = both()
        while words and words[0] == "OR":
            words.pop(0)
            result = both() or result
        return result

    def both() -> bool:
        result = one()
        while words and words[0] == "AND":
            words.pop(0)
            result = one() and result
        return result

    def one() -> bool:
        word = words.pop(0) if words else ""
        if word != "(":
            return word in allowed
        result = either()
        return bool(words) and words.pop(0) == ")" and result

    return bool(words) and either() and not words


def _packages() -> list[dict]:
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(done.stderr.strip())
    return json.loads(done.stdout)["packages"]
