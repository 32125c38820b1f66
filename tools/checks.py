# SPDX-License-Identifier: MIT OR Apache-2.0
"""`lint` and `test`: every check, each once, with the runners' closing lines together at the end."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools import archives, environments, licences, products, system
from tools.environments import DOCS, TOOLS, Environment, main_blender
from tools.shell import ROOT, SCRATCH, BuildError, capture, digest, environment, is_done, mark_done, run, say

SUITES = ("rust", "wheel", "blender")

# Processes in parallel, two on two cores, would only slow each other down with more threads.
ALONE = {"RAYON_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RUST_TEST_THREADS": "1"}

# Minutes of the core's own work on real characters, the same in every Blender, and the demo, which runs in one. Their use of
# Blender is also tested by shorter files. Those of a line share a process, and in it the lattices of the characters that they all use.
ALIKE_TOGETHER = [
    [f"test_{name}.py" for name in line.split()]
    for line in (
        "characters look turned",
        "damaged_meshes detail limb_rigs limb_shape limbs",
        "modal other_flesh other_flesh_kept shots symmetric_lattice",
        "rig_characters rig_copy rig_tools",
        "colliders contact demo drag",
    )
]
ALIKE = {name for line in ALIKE_TOGETHER for name in line}

# What an artist does first, in every Blender. The other files run in the main one and in one of the others, in turn.
EVERYWHERE = {f"test_{name}.py" for name in ("add_play_bake_remove", "bake_targets", "old_files", "panel", "rigs")}

# Other files share a process with their neighbours: to start Blender and install the extension takes as long as many of them, and
# each process builds its own small characters.
TOGETHER = 16

# Tests that take long are named, so that it is known where the minutes go. pytest takes the last of two equal options: a developer's own.
SLOW = "--durations=12 --durations-min=4"

# The closing line of cargo's and pytest's runners.
CLOSING = re.compile(r"^(test result: .*|=* ?(\d+ (passed|failed|skipped|error)|no tests ran).* in [\d.]+m?s.*)$")
PYTEST_NO_TESTS = 5

_printing = threading.Lock()


def pytest_options() -> dict[str, str]:
    """Returns the variable with pytest's options: those of every run, then the developer's own."""
    return {"PYTEST_ADDOPTS": f"{SLOW} {os.environ.get('PYTEST_ADDOPTS', '')}".strip()}


def lint() -> None:
    """Checks formatting, lints, documentation, licences and the extension's manifest. All are tried before a failure is raised."""
    system.require_rust()
    environments.setup(blenders=[])
    environments.begin([main_blender()])
    ruff = TOOLS.bin / "ruff"
    # With feature `python` clippy and rustdoc see every line. Macros and build scripts are shared with the builds of
    # the tests and the wheel.
    options, compiling = products.compile_options(archives.epoch())
    rust = ["--release", "--locked", "--features", "python", *options]
    strict = {**compiling, "RUSTDOCFLAGS": "-D warnings"}
    steps: list[tuple[str, Callable[[], None]]] = [
        ("cargo fmt", lambda: run(["cargo", "fmt", "--all", "--check"])),
        (
            "clippy",
            lambda: run(
                ["cargo", "clippy", "--workspace", *rust, "--all-targets", "--", "-D", "warnings"], env=compiling
            ),
        ),
        (
            "rustdoc",
            lambda: run(["cargo", "doc", *rust, "--no-deps"], env=strict),
        ),
        ("ruff check", lambda: run([ruff, "check", "."])),
        ("ruff format", lambda: run([ruff, "format", "--check", "."])),
        ("licences", licences.check),
        ("Blender's validator", products.validate_source),
    ]
    failed = []
    for name, step in steps:
        say(name)
        try:
            step()
        except BuildError as error:
            print(error)
            failed.append(name)
    if failed:
        raise BuildError(f"lint found something in: {', '.join(failed)}.")
    say("lint: all clean")


def test(suites: list[str], blenders: list[Environment], fast: bool = False) -> None:
    """Runs the suites. The closing lines, one per runner, are printed last; a failed runner raises a BuildError."""
    results: list[tuple[str, int, list[str]]] = []
    jobs: list[Job] = []
    env: dict[str, str | None] = {"THEW_DATA": data_folder(), "THEW_FAST": "1" if fast else None}
    environments.setup(blenders=[])
    environments.begin([*([DOCS] if "wheel" in suites else []), *(blenders if "blender" in suites else [])])
    if "rust" in suites:
        # With a driver, the tests of the engine on graphics devices must not pass by being skipped.
        gpu = {"THEW_REQUIRE_GPU": "1" if system.software_gpu() else None}
        say("cargo test")
        options, compiling = products.compile_options(archives.epoch())
        features, linking = products.binding_options()
        command: list[object] = ["cargo", "test", "--release", "--locked", "--no-fail-fast", *features, *options]
        job = Job("Rust", command, {**env, **gpu, **compiling, **linking})
        code, _ = _watch([*command, "--no-run"], job.env)
        if code:
            results.append((job.name, code, ["the tests do not compile"]))
        else:
            jobs.append(job)
    if "wheel" in suites:
        install_wheel()
        with contextlib.suppress(BuildError):
            DOCS.ensure()  # without it the test of the guide is skipped, and says so
        jobs.append(Job("wheel", [TOOLS.python, "-m", "pytest", "tests/python"], {**env, **pytest_options()}))
    if "blender" in suites:
        environments.setup(blenders)
        jobs += blender_jobs(blenders, {**env, "THEW_ZIP": str(products.package())})
    results += _run_side_by_side(jobs)
    say("summary")
    for name, code, lines in results:
        for line in lines or [f"no closing line; status {code}"]:
            print(f"{name}: {line}" if name.startswith("Blender") else line)
    broken = [name for name, code, _ in results if code]
    if broken:
        raise BuildError(f"{len(broken)} of {len(results)} test runs failed: {', '.join(broken)}.")


def data_folder() -> str | None:
    """Returns the folder of real characters, if there is one: THEW_DATA, or ../shared/data beside the clone."""
    chosen = Path(os.environ.get("THEW_DATA") or ROOT.parent / "shared" / "data")
    return str(chosen.resolve()) if chosen.is_dir() else None


def install_wheel() -> None:
    """Installs the freshly built wheel into the environment of the tools."""
    built = products.wheel()
    inputs = digest(built)
    if not is_done("wheel-installed", inputs) or capture([TOOLS.python, "-c", "import thew"])[0]:
        pip = [TOOLS.python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        run([*pip, "--force-reinstall", "--no-deps", built])
        mark_done("wheel-installed", inputs)


@dataclass(frozen=True)
class Job:
    """One test runner."""

    name: str
    command: list[object]
    env: Mapping[str, str | None]
    #: What is run instead, one by one, if it ends without a closing line: a crash would hide the files after it.
    parts: tuple[Job, ...] = ()


def blender_jobs(blenders: list[Environment], env: Mapping[str, str | None]) -> list[Job]:
    """Returns the jobs of each Blender, long ones first: the short ones at the end let both lanes end together.

    Only the main Blender runs files whose results are the same in all of them, or that do not need Blender. Beside it each of
    the others runs fewer cases, and every file once among them; alone it runs all.
    """
    jobs, long = [], []
    others = blenders[1:]
    for blender in blenders:
        own = dict(env)
        if blender in others:
            own["THEW_FAST"] = "1"  # most of the many cases are the same in every Blender
        files = sorted((ROOT / "tests" / "blender").glob("test_*.py"))
        if blender == main_blender():
            long = [
                _blender_job(blender, [file for file in files if file.name in line], own) for line in ALIKE_TOGETHER
            ]
            files = [file for file in files if file.name not in ALIKE]
        else:
            files = [file for file in files if file.name not in ALIKE and "import bpy" in file.read_text()]
        if blender in others:
            turn = others.index(blender)
            files = [f for k, f in enumerate(files) if f.name in EVERYWHERE or k % len(others) == turn]
        jobs += [_blender_job(blender, files[i : i + TOGETHER], own) for i in range(0, len(files), TOGETHER)]
    return [*long, *sorted(jobs, key=lambda job: -len(job.parts))]


def _blender_job(blender: Environment, files: list[Path], env: Mapping[str, str | None]) -> Job:
    """Returns the job that runs these test files in one process."""
    several = len(files) > 1
    # A profile of its own for every process, so that none sees another's extensions.
    profile = SCRATCH / "profiles" / f"{blender.name}-{files[0].stem}{'-together' * several}"
    profile.mkdir(parents=True, exist_ok=True)
    names = ", ".join(file.name for file in files)
    command = [blender.python, ROOT / "tools" / "pytest_in_blender.py", *(file.relative_to(ROOT) for file in files)]
    parts = tuple(_blender_job(blender, [file], env) for file in files) if several else ()
    return Job(
        f"Blender {blender.blender} {names}",
        command,
        {**env, **pytest_options(), "BLENDER_USER_RESOURCES": str(profile)},
        parts,
    )


def _run_side_by_side(jobs: list[Job]) -> list[tuple[str, int, list[str]]]:
    """Runs the jobs two at a time. A single job prints as it goes and has all processors."""
    if len(jobs) == 1:
        say(jobs[0].name)
        return [(jobs[0].name, *_watch(jobs[0].command, jobs[0].env))]
    with ThreadPoolExecutor(max_workers=2) as pool:
        return [result for results in pool.map(run_titled, jobs) for result in results]


def run_titled(job: Job) -> list[tuple[str, int, list[str]]]:
    """Runs a job and, if it crashes, its parts as well: the crash stays among the results."""
    code, lines = _watch(job.command, {**job.env, **ALONE}, title=job.name)
    found = [(job.name, code, lines)]
    if not lines:
        for part in job.parts:
            found += run_titled(part)
    return found


def _watch(command: list[object], env: Mapping[str, str | None], title: str | None = None) -> tuple[int, list[str]]:
    """Runs a test runner and prints its output, except its closing lines, which are returned for the summary.

    With a title the output is held until the end, so that parallel runs do not mix.
    """
    closing: list[str] = []
    held: list[str] = []
    began = time.monotonic()
    with subprocess.Popen(
        [str(word) for word in command],
        cwd=ROOT,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as child:
        for line in child.stdout or ():
            if CLOSING.match(line.strip()):
                closing.append(line.strip().strip("= "))
            elif title:
                held.append(line)
            else:
                print(line, end="", flush=True)
    if title:
        with _printing:
            say(f"{title} ({time.monotonic() - began:.0f} s)")
            print("".join(held), end="", flush=True)
    code = child.returncode
    if code == PYTEST_NO_TESTS and closing and closing[-1].startswith("no tests ran"):
        code = 1
    return code, closing
