# SPDX-License-Identifier: MIT OR Apache-2.0
"""`coverage`: lines of the crate that `cargo test` reaches, as a table per module.

rustc itself counts (`-C instrument-coverage`). The counts are read by llvm-profdata and llvm-cov of the same LLVM:
rustup's component llvm-tools, or Debian's package llvm-N.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from pathlib import Path

from tools import system
from tools.shell import COUNTING, ROOT, BuildError, capture, run, say

#: A target folder of its own, because its objects differ from those of other builds.
TARGET = ROOT / "target" / "coverage"


def coverage(words: list[str]) -> None:
    """Runs the tests of the crate (or those that `cargo test` selects by `words`) and prints their coverage."""
    system.require_rust()
    profdata, cov = tools()
    counts = TARGET / "counts"
    shutil.rmtree(counts, ignore_errors=True)
    env = {
        "RUSTC_WORKSPACE_WRAPPER": str(COUNTING),
        "THEW_COUNT": "lines",
        "LLVM_PROFILE_FILE": str(counts / "%p-%m.profraw"),
        "CARGO_TARGET_DIR": str(TARGET),
        "CARGO_INCREMENTAL": "0",
    }
    plain = ["--release", "--locked", "--no-default-features"]
    test = ["cargo", "test", *plain, "--lib", "--tests"]
    # A test runs the examples as programs.
    run(["cargo", "build", *plain, "--examples"], env=env)
    run([*test, *words], env=env)
    status, listed = capture([*test, "--no-run", "--message-format=json"], env=env)
    if status:
        raise BuildError(listed)
    messages = [json.loads(line) for line in listed.splitlines() if line.startswith("{")]
    programs = [m["executable"] for m in messages if m.get("executable")]
    merged = TARGET / "merged.profdata"
    run([profdata, "merge", "-sparse", *sorted(counts.glob("*.profraw")), "-o", merged])
    objects = [word for program in programs for word in ("-object", program)][1:]
    command = [cov, "export", "-summary-only", f"-instr-profile={merged}", *objects, str(ROOT / "src")]
    status, text = capture(command)
    found = re.search(r"^\{.*\}$", text, re.M)
    if status or not found:
        raise BuildError(f"llvm-cov says:\n{text[-2000:]}")
    print(table(json.loads(found[0])["data"][0]["files"]))


def tools() -> tuple[str, str]:
    """Returns llvm-profdata and llvm-cov of the compiler's LLVM. Installs them if necessary."""
    about = capture(["rustc", "-vV"])[1]
    version = re.search(r"LLVM version: (\d+)", about)
    host = re.search(r"host: (\S+)", about)
    root = capture(["rustc", "--print", "sysroot"])[1].strip()
    number = version[1] if version else ""
    folders = [Path(root) / "lib" / "rustlib" / (host[1] if host else "") / "bin", Path(f"/usr/lib/llvm-{number}/bin")]

    def find_pair() -> tuple[str, str] | None:
        for folder in folders:
            pair = folder / "llvm-profdata", folder / "llvm-cov"
            if all(tool.is_file() for tool in pair):
                return str(pair[0]), str(pair[1])
        return None

    if not find_pair():
        say(f"the tools of LLVM {number} are missing: `rustup component add llvm-tools` brings them too")
        system.install([f"llvm-{number}"], f"Reading the counts needs the tools of LLVM {number}")
    pair = find_pair()
    if not pair:
        raise BuildError(f"No llvm-profdata and llvm-cov of LLVM {number} were found.")
    return pair


def table(files: list[dict]) -> str:
    """Returns the coverage of each module of the crate as a table, the least covered first, without tests."""
    reached: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in files:
        parts = Path(file["filename"]).resolve().relative_to(ROOT / "src").with_suffix("").parts
        if "tests" not in parts and parts[-1] != "fixture":
            lines = file["summary"]["lines"]
            for name in (parts[0], "all"):
                reached[name][0] += lines["covered"]
                reached[name][1] += lines["count"]
    rows = sorted(reached.items(), key=lambda row: (row[0] == "all", row[1][0] / max(row[1][1], 1)))
    cells = [f"| {name} | {of} | {hit} | {100 * hit / max(of, 1):.1f} % |" for name, (hit, of) in rows]
    return "\n".join(["| module | lines | reached | |", "| --- | --- | --- | --- |", *cells])
