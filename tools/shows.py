# SPDX-License-Identifier: MIT OR Apache-2.0
"""`demo`, `example` and `bench`: the finished product in pictures and in numbers."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tomllib
import zipfile
from datetime import date
from pathlib import Path

from tools import history, products
from tools.checks import data_folder, install_wheel
from tools.environments import TOOLS, Environment, main_blender
from tools.shell import DIST, ROOT, SCRATCH, BuildError, capture, environment, say


def demo(given: Path | None, output: Path | None, action: str | None, cells: int) -> None:
    """Installs the zip into a clean Blender, gives characters flesh, bakes, saves, renders."""
    extension = products.package()
    blender = main_blender().ensure()
    target = (output or DIST / "demo").resolve()
    target.mkdir(parents=True, exist_ok=True)
    engine = _engine(blender)
    words: list[object] = ["--zip", extension, "--output", target, "--cells", cells, "--engine", engine]
    if given:
        words += ["--input", given.resolve()]
    if action:
        words += ["--action", action]
    say(f"demo in {target}")
    _in_blender(blender, ["-m", "demo", *words], profile="demo")


EXAMPLES = (
    {file.stem.split("_")[0]: file.stem for file in sorted((ROOT / "examples").glob("figure*.py"))}
    | {
        file.stem.replace(said, name): file.stem
        for said, name in (
            ("capell_", "rig-"),
            *((f"{name}_", f"{name}-") for name in ("elastic", "mrep", "sculpt", "spacetime")),
        )
        for file in sorted((ROOT / "examples").glob(f"{said}*.py"))
    }
    | {"muscles": "muscles"}
)
"""The modules of the figures, by short name: those of docs/modal-warping.md, docs/rigging.md, docs/rigs-from-shapes.md, docs/elastic.md, docs/methods/medial-models.md,
docs/methods/muscles.md and docs/spacetime.md."""


def examples(names: list[str], output: Path | None, fast: bool) -> None:
    """Computes and renders figures of the documentation, into docs/images or another folder."""
    unpacked = SCRATCH / "wheel"
    shutil.rmtree(unpacked, ignore_errors=True)
    with zipfile.ZipFile(products.wheel()) as wheel:
        wheel.extractall(unpacked)
    blender = main_blender().ensure()
    for name in names:
        say(EXAMPLES[name].replace("_", ": ", 1))
        words: list[object] = ["-m", f"examples.{EXAMPLES[name]}"]
        if output:
            words += ["--output", (output / f"{name}.jpg").resolve()]
        if fast:
            words += ["--engine", "WORKBENCH"]
        _in_blender(blender, words, profile="examples", env={"PYTHONPATH": str(unpacked)})


def benches() -> list[str]:
    """Returns the names of all benches: those of the crate, then the scripts."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    rust = [entry["name"] for entry in manifest.get("bench", [])]
    return rust + [script.stem for script in sorted((ROOT / "benches").glob("*.py"))]


def bench(names: list[str]) -> None:
    """Runs benches, writes dist/bench-report.md and adds to docs/benches/history.jsonl, each as it ends."""
    report = [f"# Thew {products.version()}: benches\n", f"{date.today()}, {_machine()}\n"]
    old, entries = history.read(), []
    for name in names:
        section = _section(*_bench(name))
        report.append(section)
        title, text = section.removeprefix("## ").split("\n", 1)
        if measured := history.measures(text):
            entries.append(history.entry(str(date.today()), _commit(), _machine(), title, measured))
            history.append(entries[-1:])
        else:
            say(f"nothing that {name} printed is a measure: the history gets no line")
    table = history.comparison(entries, old)
    say("beside the last run on this machine")
    print(table, flush=True)
    report.append(f"## Beside the last run on this machine\n\n{table}\n")
    DIST.mkdir(exist_ok=True)
    target = DIST / "bench-report.md"
    target.write_text("\n".join(report))
    say(f"report in {target}")


def _bench(name: str) -> tuple[str, list[object], dict[str, str | None]]:
    """Returns title, command and variables of a bench, after building what it needs."""
    script = ROOT / "benches" / f"{name}.py"
    if not script.is_file():
        return f"Rust: {name}", ["cargo", "bench", "--locked", "--bench", name], {}
    env: dict[str, str | None] = {"THEW_DATA": data_folder(), "PYTHONPATH": str(ROOT)}
    env["BLENDER_USER_RESOURCES"] = str(clean_profile("bench"))
    python = TOOLS.python
    if name.startswith("blender_"):
        python = main_blender().ensure().python
        env["THEW_ZIP"] = str(products.package())
    else:
        install_wheel()
    return name.replace("_", " ").capitalize(), [python, script], env


def _commit() -> str:
    return capture(["git", "describe", "--always", "--dirty"])[1].strip()


def _section(title: str, command: list[object], env: dict[str, str | None]) -> str:
    """Runs one bench and returns its section of the report: its standard output."""
    say(title)
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env=environment(env),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise BuildError(f"The bench '{title}' failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    # A table in Markdown stands as it is; an empty line after it matters.
    kept = [line for line in done.stdout.splitlines() if not line.strip() or not CHATTER.match(line)]
    text = "\n".join(kept).strip()
    print(text, flush=True)
    body = text if text.startswith(("|", "#", "*")) else f"```text\n{text}\n```"
    return f"## {title}\n\n{body}\n"


def _engine(blender: Environment) -> str:
    """Returns Workbench if OpenGL works, which is tried in a process that may die; otherwise Cycles."""
    trial = _blender_command(blender, ["-m", "demo", "--trial", "--output", SCRATCH / "trial"])
    code, _ = capture(trial, env={"BLENDER_USER_RESOURCES": str(clean_profile("trial"))})
    if code:
        say("OpenGL does not work here: rendering fewer pictures with Cycles instead")
    return "CYCLES" if code else "WORKBENCH"


# Lines of Blender's own log and importers, which are not printed.
CHATTER = re.compile(r"(\d\d:\d\d[.:]\d+ |Info: |EGL Error|STATUS |Saved: |Time: |Fra:|Memory: |\s*$)")


def _in_blender(
    blender: Environment, words: list[object], profile: str, env: dict[str, str | None] | None = None
) -> None:
    """Runs Blender without its chatter."""
    own = {"BLENDER_USER_RESOURCES": str(clean_profile(profile)), "PYTHONUNBUFFERED": "1"}
    command = [str(word) for word in _blender_command(blender, words)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment({**own, **(env or {})}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as child:
        for line in child.stdout or ():
            if not CHATTER.match(line):
                print(line, end="", flush=True)
    if child.returncode:
        raise BuildError(f"Blender ended with status {child.returncode}.")


def _blender_command(blender: Environment, words: list[object]) -> list[object]:
    return [blender.python, *words]


def clean_profile(name: str) -> Path:
    """Returns an empty folder for the settings of a Blender."""
    folder = SCRATCH / "profiles" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _machine() -> str:
    """Returns processor, cores and compiler, for the head of a report."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.is_file() else []
    compiler = capture(["rustc", "--version"])[1].strip()
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, {compiler}"
