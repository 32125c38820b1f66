# SPDX-License-Identifier: MIT OR Apache-2.0
"""The parts of build.py that decide something."""

import tomllib
from pathlib import Path

import pytest

from tools import checks, licences, products
from tools.shell import BuildError

MANIFEST = """
id = "thew"
version = "0.0.0"
wheels = [
    "./wheels/old.whl",
]
[permissions]
files = "wheels = [] in a text"
"""


def test_manifest_gets_the_wheel_before_its_tables():
    done = tomllib.loads(products.complete_manifest(MANIFEST, "thew-1.whl", "linux-x64"))
    assert done["wheels"] == ["./wheels/thew-1.whl"]
    assert done["platforms"] == ["linux-x64"]
    assert done["version"] == products.version()
    assert done["id"] == "thew"
    assert done["permissions"] == {"files": "wheels = [] in a text"}


@pytest.mark.parametrize(
    ("name", "platform"),
    [
        ("thew-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl", "linux-x64"),
        ("thew-0.1.0-cp311-abi3-manylinux_2_28_aarch64.whl", "linux-arm64"),
        ("thew-0.1.0-cp311-abi3-macosx_11_0_arm64.whl", "macos-arm64"),
        ("thew-0.1.0-cp311-abi3-win_amd64.whl", "windows-x64"),
    ],
)
def test_platform_is_read_from_the_wheel(name, platform):
    assert products.platform_of(Path(name)) == platform


def test_a_wheel_for_an_unknown_platform_is_refused():
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
def test_closing_lines_are_told_apart(line, closes):
    assert bool(checks.CLOSING.match(line)) is closes
