# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lets programs of others read what exports contain: the Khronos validator of glTF, and three.js, both packages of npm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from gltf_file import z_up

ROOT = Path(__file__).resolve().parents[2]
#: Packages with their versions.
PACKAGES = {"gltf-validator": "2.0.0-dev.3.10", "three": "0.187.0"}
#: Seconds after which the registry counts as away: of one answer, and of all.
ANSWER_PATIENCE, PATIENCE = 20, 120
#: Why the packages cannot be had, once that is known.
away: list[str] = []


def modules() -> Path:
    """Returns the folder of the installed packages, beside what is built; skips the test where they cannot be had."""
    words = "-".join(f"{name}-{version}" for name, version in PACKAGES.items())
    folder = Path(os.environ.get("THEW_NPM") or ROOT / ".build") / words
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not here")
    if not folder.is_dir() and not away:
        away.extend(install(folder))
    if away:
        pytest.skip(away[0])
    return folder / "node_modules"


def install(folder: Path) -> list[str]:
    """Installs the packages beside their place, and moves them there; returns why it could not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix="npm-", dir=folder.parent))
    how = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]
    how += [f"--fetch-timeout={1000 * ANSWER_PATIENCE}", "--prefix", str(part)]
    command = [shutil.which("npm"), "install", *how, *(f"{name}@{version}" for name, version in PACKAGES.items())]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode:
            return [f"npm cannot install what the test needs: {done.stderr.strip()[-200:]}"]
        with suppress(OSError):  # another process has been quicker
            part.rename(folder)
    except subprocess.TimeoutExpired:
        return ["npm does not answer"]
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return []


def run(script: str, path: Path, request: object = None) -> dict:
    """Runs one of the scripts beside this file on a .glb, and returns its answer."""
    command = ["node", str(Path(__file__).with_name(script)), str(modules()), str(path)]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def validate(path: Path) -> dict:
    """Returns the report of the Khronos validator on a .glb."""
    return run("validate_gltf.mjs", path)


def play_in_three(path: Path, mesh: str, clips: dict[str, list[float]]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Lets the AnimationMixer of three.js play clips at instants, s.

    Returns the mesh as the file opens [n, 3], and for each clip its shapes [t, n, 3], in Blender's axes.
    """
    found = run("play_gltf.mjs", path, {"mesh": mesh, "clips": clips})
    shapes = {name: np.array([z_up(np.array(shape)) for shape in each]) for name, each in found["clips"].items()}
    return z_up(np.array(found["still"])), shapes
