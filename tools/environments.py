# SPDX-License-Identifier: MIT OR Apache-2.0
"""The virtual environments: one with the tools, one for the guide, and one per Blender (two cannot share one).

Blender itself comes from the package index as the module `bpy`, about 1 GB each. A variable `THEW_VENV_` and a name
(`THEW_VENV_TOOLS`, `THEW_VENV_BPY50`) names an environment to use instead of `.venv/…`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import shutil
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from tools import system
from tools.shell import ROOT, BuildError, capture, digest, is_done, mark_done, run, say

# Blender's own index: it keeps releases of bpy that the public one has dropped.
BLENDER_INDEX = "https://download.blender.org/pypi/"


@dataclass(frozen=True)
class Environment:
    """A virtual environment described by `tools/requirements/NAME.txt`."""

    name: str
    blender: str | None = None
    #: Version of its interpreter: each bpy supports exactly one.
    version: tuple[int, int] = (3, 11)

    @property
    def folder(self) -> Path:
        chosen = os.environ.get(f"THEW_VENV_{self.name.upper()}")
        return Path(chosen).resolve() if chosen else ROOT / ".venv" / self.name

    @property
    def bin(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> Path:
        return self.bin / ("python.exe" if os.name == "nt" else "python")

    @property
    def requirements(self) -> Path:
        return ROOT / "tools" / "requirements" / f"{self.name}.txt"

    def activation_variables(self) -> dict[str, str | None]:
        """Returns variables that make child processes see this environment as the active one."""
        path = os.pathsep.join([str(self.bin), os.environ.get("PATH", "")])
        return {"VIRTUAL_ENV": str(self.folder), "PATH": path, "PYTHONHOME": None}

    def can_be_made(self) -> bool:
        """Returns true if it is there, or a Python of its version is."""
        return self.python.is_file() or find_interpreter(self.version) is not None

    def ensure(self) -> Environment:
        """Creates the environment and installs its requirements, unless that was done before."""
        with _making[self.name]:
            return self._make()

    def _make(self) -> Environment:
        wanted = digest(self.requirements, str(self.folder), sys.version)
        if self.python.is_file() and is_done(f"venv-{self.name}", wanted):
            return self
        if not self.python.is_file():
            say(f"virtual environment {self.folder}")
            _create(self.folder, _interpreter(self))
        self._install()
        if self.blender:
            self._check_blender()
        mark_done(f"venv-{self.name}", wanted)
        return self

    def _install(self) -> None:
        size = ", Blender included: about 1 GB" if self.blender else ""
        say(f"installing {self.requirements.relative_to(ROOT)}{size}")
        pip = [
            self.python,
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-compile",  # most of it is never imported; the rest compiles when it is
            "-q",
            "-r",
            self.requirements,
        ]
        try:
            run(pip)
        except BuildError:
            if not self.blender:
                raise
            run([*pip, "--extra-index-url", BLENDER_INDEX])

    def _check_blender(self) -> None:
        """Imports bpy once. The usual reason of a failure is missing system libraries, which are then installed."""
        command = [self.python, "-c", "import bpy; print('Blender', bpy.app.version_string)"]
        code, output = capture(command)
        if code and ("cannot open shared object file" in output or "ImportError" in output):
            system.install(system.BLENDER_LIBRARIES, "Blender needs system libraries that are missing")
            code, output = capture(command)
        if code or f"Blender {self.blender}" not in output:
            raise BuildError(f"Blender {self.blender} does not start from {self.folder}:\n{output}")

    def blender_script(self, name: str) -> Path:
        """Returns a file of Blender's own scripts, found without starting Blender."""
        found = sorted(self.folder.glob(f"[Ll]ib/**/site-packages/bpy/*/scripts/**/{name}"))
        if not found:
            raise BuildError(f"Blender's {name} was not found in {self.folder}.")
        return found[0]


TOOLS = Environment("tools")
#: Environment of the guide: none of the other environments, whose tools it could bring out of step.
DOCS = Environment("docs")
#: Every Blender that can be tested, by version.
EVERY_BLENDER = [
    Environment("bpy42", "4.2"),
    Environment("bpy45", "4.5"),
    Environment("bpy50", "5.0"),
    Environment("bpy52", "5.2", (3, 13)),
    Environment("bpy53", "5.3", (3, 13)),
]
#: The newest LTS, which runs every test, the demo and the pictures; and what does so where Python 3.13 is missing.
MAIN_BLENDER, MAIN_WITHOUT_NEW_PYTHON = "5.2", "5.0"
#: Blenders that run fewer cases at each change: the oldest supported one, the other LTS and the newest.
OTHER_BLENDERS = ("4.2", "4.5", "5.3")

_making = {env.name: threading.Lock() for env in (TOOLS, DOCS, *EVERY_BLENDER)}


def find_blender(version: str) -> Environment:
    """Returns the environment of a version of Blender, such as 5.2."""
    return next(env for env in EVERY_BLENDER if env.blender == version)


@functools.cache
def main_blender() -> Environment:
    """Returns the Blender that runs every test, the demo and the pictures."""
    main = find_blender(MAIN_BLENDER)
    return main if main.can_be_made() else find_blender(MAIN_WITHOUT_NEW_PYTHON)


@functools.cache
def tested_blenders() -> list[Environment]:
    """Returns the Blenders tested at each change, the main one first. Those without a Python on this machine are named and left out."""
    wanted = [find_blender(version) for version in OTHER_BLENDERS]
    missing = [env.blender for env in [find_blender(MAIN_BLENDER), *wanted] if not env.can_be_made()]
    if missing:
        say(f"Blender {' and '.join(map(str, missing))} not tested: there is no Python 3.13 on this machine")
    return [main_blender(), *(env for env in wanted if env.can_be_made())]


def setup(blenders: list[Environment] | None = None) -> None:
    """Prepares everything that the other commands need on a fresh machine."""
    system.require_rust()
    for env in [TOOLS, *(tested_blenders() if blenders is None else blenders)]:
        env.ensure()


def begin(blenders: list[Environment]) -> None:
    """Prepares environments in the background, as this is mostly waiting. `ensure` then waits for them and reports errors."""

    def make() -> None:
        for env in blenders:
            with contextlib.suppress(BuildError):
                env.ensure()

    threading.Thread(target=make, daemon=True).start()


def _create(folder: Path, python: str) -> None:
    if python == sys.executable and importlib.util.find_spec("ensurepip") is None:
        system.install(["python3-venv"], "Python's venv module is missing")
    run([python, "-m", "venv", folder])


@functools.cache
def find_interpreter(version: tuple[int, int]) -> str | None:
    """Returns a Python of this version: the running one, one on the path, or one of pyenv's."""
    if sys.version_info[:2] == version:
        return sys.executable
    name = f"python{version[0]}.{version[1]}"
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    pattern = f"{version[0]}.{version[1]}.*/bin/{name}"
    found = [shutil.which(name), *map(str, sorted(kept.glob(pattern), reverse=True))]
    # pyenv has shims on the path even for versions that are switched off; these end with an error.
    return next((python for python in found if python and capture([python, "--version"])[0] == 0), None)


def _interpreter(wanted: Environment) -> str:
    """Returns the Python that an environment is made of."""
    python = find_interpreter(wanted.version)
    if python:
        return python
    version = ".".join(map(str, wanted.version))
    which = f"Blender {wanted.blender}" if wanted.blender else "What builds and tests Thew"
    raise BuildError(
        f"{which} needs Python {version}; this is {sys.version.split()[0]}, and no python{version} is on the path. "
        f"Please install Python {version} and call this again."
    )
