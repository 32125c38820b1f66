# SPDX-License-Identifier: MIT OR Apache-2.0
"""The listing on Blender's extension platform and the manifest say the same, and keep to the platform's rules."""

import re
import tomllib

import pytest

from tools.shell import ROOT

PAGE = (ROOT / "docs" / "listing.md").read_text(encoding="utf-8")
MANIFEST = tomllib.loads((ROOT / "blender_addon" / "blender_manifest.toml").read_text(encoding="utf-8"))
FIELDS = dict(re.findall(r"^\| ([A-Z]\w+) \| (.+?) \|$", PAGE, re.MULTILINE))
PICTURES = re.findall(r"^\| `(docs/images/[\w.-]+)` \| (.+?) \|$", PAGE, re.MULTILINE)
#: Tags that the platform has for add-ons.
TAGS = {
    "3D View", "Add Curve", "Add Mesh", "Animation", "Bake", "Camera", "Compositing", "Development", "Game Engine", "Geometry Nodes",
    "Grease Pencil", "Import-Export", "Lighting", "Material", "Mesh", "Modeling", "Node", "Object", "Paint", "Physics", "Pipeline", "Render",
    "Rigging", "Scene", "Sculpt", "Sequencer", "System", "Text Editor", "Tracking", "User Interface", "UV",
}  # fmt: skip
#: Largest number of letters of a tagline and of the reason of a permission, and of bytes of a picture.
MAX_LETTERS, MAX_BYTES = 64, 1_000_000


def test_listing_as_manifest():
    """Name, tagline, tags and reasons are those of the manifest."""
    assert FIELDS["Name"] == MANIFEST["name"]
    assert FIELDS["Tagline"] == MANIFEST["tagline"]
    assert FIELDS["Tags"].split(", ") == sorted(MANIFEST["tags"])
    assert FIELDS["Permissions"] == f"Files: {MANIFEST['permissions']['files']}"


def test_manifest_rules():
    """The manifest keeps to what the platform checks, and asks for no permission without a reason."""
    assert set(MANIFEST["permissions"]) == {"files"}
    for text in (MANIFEST["tagline"], *MANIFEST["permissions"].values()):
        assert len(text) <= MAX_LETTERS and text[-1].isalnum()
    assert set(MANIFEST["tags"]) <= TAGS
    assert "blender" not in MANIFEST["name"].lower()
    assert MANIFEST["license"] == ["SPDX:GPL-3.0-or-later"]


def test_extension_offline():
    """No module of the extension can reach the network or start another program, as the listing says."""
    banned = re.compile(
        r"^\s*(?:import|from) (?:socket|ssl|http|urllib|ftplib|smtplib|requests|subprocess|webbrowser)\b", re.MULTILINE
    )
    found = [
        path.name for path in (ROOT / "blender_addon").rglob("*.py") if banned.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(("picture", "caption"), PICTURES)
def test_listing_pictures(picture, caption):
    """Each picture is there, not heavy, and has a caption."""
    assert (ROOT / picture).stat().st_size < MAX_BYTES
    assert caption and not picture.endswith(".gif")


def test_listing_has_pictures():
    """The listing names at least three pictures."""
    assert len(PICTURES) >= 3
