# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fuzz`: random input for every parser and entry point, guided by the branches that inputs take."""

from __future__ import annotations

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools import system
from tools.shell import COUNTING, ROOT, BuildError, environment, say

#: Time that a target may take beyond its limit, for its corpus and its last input, s.
GRACE = 180


def targets() -> list[str]:
    """Returns the names of all targets, as the test lists them."""
    found = re.search(
        r"^target_tests! \{(.*?)\}", (ROOT / "tests" / "fuzz.rs").read_text(encoding="utf-8"), re.M | re.S
    )
    return found[1].split() if found else []


def fuzz(seconds: int, names: list[str], keep: bool) -> None:
    """Runs targets for `seconds` each, as many in parallel as there are cores."""
    system.require_rust()
    say("building the targets")
    program = _build(counting=os.name == "posix") or _build(counting=False)
    if program is None:
        raise BuildError("The targets do not build: `cargo test --test fuzz --no-run` tells why.")
    extra = {"THEW_FUZZ_SECONDS": str(seconds), "THEW_FUZZ_KEEP": "1" if keep else None, "RAYON_NUM_THREADS": "1"}

    def one(name: str) -> tuple[str, int, str]:
        command = [program, name, "--exact", "--nocapture", "--test-threads=1"]
        try:
            ran = subprocess.run(
                command, cwd=ROOT, env=environment(extra), capture_output=True, text=True, errors="replace",
                timeout=seconds + GRACE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            return name, 1, f"{name} did not end within {error.timeout:.0f} seconds"
        lines = re.findall(rf"{name}: \d+ inputs .*", ran.stdout)
        return name, ran.returncode, "\n".join(lines) if ran.returncode == 0 else (ran.stdout + ran.stderr)[-6000:]

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        results = list(pool.map(one, names or targets()))
    for _, _, text in results:
        print(text, flush=True)
    if all(" 0 branches" in text for _, code, text in results if not code):
        say("no branches were counted: inputs were made blindly")
    broken = [name for name, code, _ in results if code]
    if broken:
        raise BuildError(f"Something broke in {', '.join(broken)}; the inputs lie in target/fuzz-crashes.")
    say(f"fuzz: {len(results)} targets, nothing broke")


def _build(counting: bool) -> Path | None:
    """Builds the targets and returns their program; `None` if they cannot be built."""
    # A folder of its own, so that builds with counters are not mistaken for plain ones.
    folder = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "fuzz"
    # Incremental builds do not notice an added pass, and reuse units without counters.
    wrapper = {
        "RUSTC_WORKSPACE_WRAPPER": str(COUNTING) if counting else None,
        "THEW_COUNT": "branches",
        "CARGO_TARGET_DIR": str(folder),
        "CARGO_INCREMENTAL": "0",
    }
    command = [
        "cargo",
        "test",
        "--release",
        "--locked",
        "--no-default-features",
        "--test",
        "fuzz",
        "--no-run",
        "--message-format=json",
    ]
    ran = subprocess.run(command, cwd=ROOT, env=environment(wrapper), stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        if counting:
            say("this compiler cannot count branches: inputs are made blindly")
        return None
    messages = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    made = [m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == "fuzz"]
    return Path(made[-1]) if made else None
