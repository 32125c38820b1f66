# SPDX-License-Identifier: MIT OR Apache-2.0
"""The parts of build.py that decide something."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import build
from tools import archives, checks, cross, licences, products
from tools.environments import find_blender, main_blender
from tools.shell import ROOT, BuildError

MANIFEST = """
id = "thew"
version = "0.0.0"
wheels = [
    "./wheels/old.whl",
]
[permissions]
files = "wheels = [] in a text"
"""


def test_manifest_lists_wheel():
    """The completed manifest lists wheel, platform and version before its tables."""
    done = tomllib.loads(products.complete_manifest(MANIFEST, "thew-1.whl", "linux-x64"))
    assert done["wheels"] == ["./wheels/thew-1.whl"]
    assert done["platforms"] == ["linux-x64"]
    assert done["version"] == products.version()
    assert done["id"] == "thew"
    assert done["permissions"] == {"files": "wheels = [] in a text"}


def test_manifest_names_copyrights():
    """The completed manifest names the copyright holders of bundled code."""
    text = (
        "Copyright (c) 2016--2023\n"
        "  Copyright (c) 2015 - 2021 Ada Lovelace <ada@example.org>\n"
        "Copyright (c) 2017-present The Engine Project. https://example.org\n"
        "copyright (c) of such a work"
    )
    holders = licences.holders(text)
    assert holders == ["2015-2021 Ada Lovelace", "2017 The Engine Project"]
    own = MANIFEST.replace("[permissions]", 'copyright = ["2026 Us"]\n[permissions]')
    done = tomllib.loads(products.complete_manifest(own, "thew-1.whl", "linux-x64", holders))
    assert done["copyright"] == ["2026 Us", *holders]


@pytest.mark.parametrize("name", cross.TARGETS)
def test_cross_wheel_differs_by_module(name, tmp_path):
    """The wheel of another platform has its module, tag and record, and every other file of this machine's."""
    here = tmp_path / "thew-1.2-cp311-abi3-manylinux_2_28_x86_64.whl"
    files = {
        "thew/__init__.py": b"",
        "thew/_thew.abi3.so": b"of this machine",
        "thew-1.2.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: cp311-abi3-manylinux_2_28_x86_64\n",
        "thew-1.2.dist-info/RECORD": b"",
    }
    with zipfile.ZipFile(here, "w") as archive:
        for file, data in files.items():
            archive.writestr(file, data)
    target = cross.TARGETS[name]
    built = cross.assemble(here, b"of another", target, tmp_path)
    assert products.platform_of(built) == name
    with zipfile.ZipFile(built) as archive:
        found = {file: archive.read(file) for file in archive.namelist()}
    assert found.pop(f"thew/{target.module}") == b"of another"
    assert found.pop("thew-1.2.dist-info/WHEEL") == f"Wheel-Version: 1.0\nTag: cp311-abi3-{target.tag}\n".encode()
    assert f"thew/{target.module},sha256=" in found.pop("thew-1.2.dist-info/RECORD").decode()
    assert found == {"thew/__init__.py": b""}


@pytest.mark.parametrize(
    ("name", "platform"),
    [
        ("thew-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl", "linux-x64"),
        ("thew-0.1.0-cp311-abi3-manylinux_2_28_aarch64.whl", "linux-arm64"),
        ("thew-0.1.0-cp311-abi3-macosx_11_0_arm64.whl", "macos-arm64"),
        ("thew-0.1.0-cp311-abi3-win_amd64.whl", "windows-x64"),
    ],
)
def test_platform_of_wheel(name, platform):
    """The platform is read from the wheel's name."""
    assert products.platform_of(Path(name)) == platform


def test_platform_unknown_refused():
    """A wheel for an unknown platform is refused."""
    with pytest.raises(BuildError, match="musllinux"):
        products.platform_of(Path("thew-0.1.0-cp311-abi3-musllinux_1_2_x86_64.whl"))


@pytest.mark.parametrize(
    ("expression", "fine"),
    [
        ("MIT", True),
        ("MIT/GPL-3.0", True),
        ("(GPL-3.0 OR MIT) AND Zlib", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT AND GPL-3.0", False),
        ("GPL-3.0 OR (MIT AND LGPL-2.1)", False),
        ("Apache-2.0", False),
        ("(MIT", False),
        ("", False),
    ],
)
def test_licence_expressions(expression, fine):
    """A licence expression is allowed when a set of accepted licences satisfies it."""
    assert licences.allows(expression, {"MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"}) is fine


@pytest.mark.parametrize(
    ("line", "closes"),
    [
        ("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s", True),
        ("===== 5 passed, 1 skipped in 0.12s =====", True),
        ("1 failed, 5 passed in 61.20s (0:01:01)", True),
        ("no tests ran in 0.01s", True),
        ("test surface::closed ... ok", False),
        ("printed 5 passed by", False),
    ],
)
def test_closing_line_recognised(line, closes):
    """The closing line of a test run is told from lines that only look like one."""
    assert bool(checks.CLOSING.match(line)) is closes


def test_blender_jobs_hold_each_file():
    """Each test file is in one job of the main Blender, and all but the shared ones are in one of another."""
    files = {file.name for file in (ROOT / "tests" / "blender").glob("test_*.py")}
    for blender, wanted in ((main_blender(), files), (find_blender("4.2"), files - checks.ALIKE)):
        jobs = checks.blender_jobs([blender], {})
        run = [word.name for job in jobs for word in job.command if getattr(word, "name", "").startswith("test_")]
        assert len(run) == len(set(run)) and set(run) <= wanted
        plain = {name for name in wanted - set(run) if "import bpy" in (ROOT / "tests" / "blender" / name).read_text()}
        assert not plain and (blender != main_blender() or set(run) == files)
        assert all([part.command[-1] for part in job.parts] == job.command[2:] for job in jobs if job.parts)


def test_other_blenders_share_files():
    """Beside the main Blender each other one runs what every Blender runs, and among them they run every file that needs Blender."""
    blenders = [main_blender(), find_blender("4.2"), find_blender("4.5"), find_blender("5.3")]
    run = {blender.blender: set() for blender in blenders}
    for job in checks.blender_jobs(blenders, {}):
        assert (job.env.get("THEW_FAST") == "1") is not job.name.startswith(f"Blender {main_blender().blender} ")
        run[job.name.split()[1]] |= {w.name for w in job.command if getattr(w, "name", "").startswith("test_")}
    folder = ROOT / "tests" / "blender"
    files = {file.name for file in folder.glob("test_*.py")}
    shared = {name for name in files - checks.ALIKE if "import bpy" in (folder / name).read_text()}
    main, *others = run.values()
    assert files >= checks.ALIKE
    assert main == files and set.union(*others) == shared and set.intersection(*others) == checks.EVERYWHERE


def test_crash_runs_parts():
    """The files after a crash are run by themselves, and the crash remains a failure."""
    ends = [sys.executable, "-c", "print('1 passed in 0.01s')"]
    parts = tuple(checks.Job(name, ends, {}) for name in ("one", "other"))
    crashes = checks.Job("both", [sys.executable, "-c", "import os; os.abort()"], {}, parts)
    found = checks.run_titled(crashes)
    assert [(name, code == 0, lines) for name, code, lines in found] == [
        ("both", False, []),
        ("one", True, ["1 passed in 0.01s"]),
        ("other", True, ["1 passed in 0.01s"]),
    ]
    assert len(checks.run_titled(checks.Job("fine", ends, {}, parts))) == 1


def test_licence_text_lists_crates():
    """The licence text names every linked crate and leaves out crates used by tests alone."""
    text = licences.texts()
    for line in (
        "faer 0.24.4 (MIT)",
        "nalgebra 0.35.0 (Apache-2.0)",
        "wgpu 30.0.1 (MIT OR Apache-2.0)",
        "equator 0.2.2 (MIT)",  # brings no file of its own
    ):
        assert line in text
    assert "proptest" not in text  # of tests alone
    assert "Permission is hereby granted, free of charge" in text and "Apache License" in text


def test_licence_text_deterministic():
    """The licence text is the same in every process, whatever order its sets of names have."""
    show = "from tools import licences; print(licences.texts())"

    def licence_output(seed):
        env = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONIOENCODING": "utf-8"}
        return subprocess.run([sys.executable, "-c", show], cwd=ROOT, env=env, capture_output=True, check=True).stdout

    assert len({licence_output(seed) for seed in range(4)}) == 1


def test_archive_deterministic(tmp_path):
    """An archive has the same bytes whenever it is made, with a correct record."""
    made = []
    for i, year in enumerate((1999, 2024)):
        archive = tmp_path / f"{i}.whl"
        with zipfile.ZipFile(archive, "w") as file:
            for name in ("thew/b.py", "thew/a.py")[:: 1 if i else -1]:
                file.writestr(zipfile.ZipInfo(name, (year, 1, 2, 3, 4, 6)), name)
            file.writestr("thew-1.dist-info/RECORD", "of old")
        archives.rewrite(archive, {"thew-1.dist-info/licenses/L.txt": b"text"}, 1_700_000_000)
        made.append(archive.read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "0.whl") as file:
        assert file.testzip() is None and file.read("thew-1.dist-info/licenses/L.txt") == b"text"
        lines = file.read("thew-1.dist-info/RECORD").decode().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "thew-1.dist-info/licenses/L.txt",
        "thew/a.py",
        "thew/b.py",
        "thew-1.dist-info/RECORD",
    ]
    # sha256 of "text", as pip wants it
    assert lines[0].split(",")[1:] == ["sha256=mC2ePrmW9VnmM_TRlN7zdh2Qn1o7ZH0ahR_q1nwyydE", "4"]


def test_workflow_actions_pinned():
    """Workflows pin every action by its commit hash."""
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for used in re.findall(r"uses: *(\S+)", workflow.read_text()):
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", used), f"{workflow.name}: {used}"


def test_pytest_options_keep_own(monkeypatch):
    """A developer's own options of pytest are kept, and come last."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    assert checks.pytest_options() == {"PYTEST_ADDOPTS": checks.SLOW}
    monkeypatch.setenv("PYTEST_ADDOPTS", "-x --durations=3")
    assert checks.pytest_options() == {"PYTEST_ADDOPTS": f"{checks.SLOW} -x --durations=3"}
    for job in checks.blender_jobs([main_blender()], {}):
        assert job.env["PYTEST_ADDOPTS"].endswith(" -x --durations=3")


def test_debian_packages_installed_once(monkeypatch, tmp_path):
    """Builds and tests in turn install each list of packages once."""
    stamps, ran = {}, []
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    for folder in ("etc/apt/apt.conf.d", "etc/ssl/certs"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("cargo", "apt-get"):
        (tmp_path / "usr" / "bin" / name).touch()
    monkeypatch.setenv("THEW_DEBIAN", str(tmp_path))
    monkeypatch.setattr(cross.platform, "system", lambda: "Linux")
    monkeypatch.setattr(cross.os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(cross.shutil, "which", lambda _name: "debootstrap")
    monkeypatch.setattr(cross.shutil, "copy2", lambda *_: None)
    monkeypatch.setattr(cross, "run", ran.append)
    monkeypatch.setattr(cross, "is_done", lambda step, wanted: stamps.get(step) == wanted)
    monkeypatch.setattr(cross, "mark_done", stamps.__setitem__)
    for further in (None, cross.EMULATORS, None, cross.EMULATORS):
        assert cross._debian(further) == tmp_path
    assert len([words for words in ran if "install" in words]) == 2


@pytest.mark.parametrize(
    ("words", "ran"),
    [
        (["--test", "windows-x64"], [("windows-x64", [])]),
        (["linux-arm64", "--test", "--filter", "rig::", "--filter", "clip::"], [("linux-arm64", ["rig::", "clip::"])]),
        (["linux-arm64", "--filter", "rig::"], [("linux-arm64", ["rig::"])]),
        (["--test"], [("windows-x64", []), ("linux-arm64", [])]),
    ],
)
def test_cross_tests_named_platforms(words, ran, monkeypatch):
    """The tests of the named platforms run, else those of each that something here emulates; a platform is never taken for a filter."""
    found = []
    monkeypatch.setattr(cross, "test", lambda name, filters: found.append((name, filters)))
    monkeypatch.setattr(sys, "argv", ["build.py", "cross", *words])
    assert build.main() == 0
    assert found == ran
