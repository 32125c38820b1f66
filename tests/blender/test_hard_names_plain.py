# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of materials and meshes that mark something as hard, and others."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
is_hard = importlib.import_module("logic.hard_names").is_hard

HARD = (
    "Horns", "Hooves", "Eye_Black", "eyeR", "EyeWhite", "armor.001", "M_Plate_Metal", "steel", "mat-Teeth-02", "KnightArmour",
    "Rüstung", "ru\u0308stung", "Hörner.links", "Zähne", "griffes", "Œil droit", "Pezuñas", "uñas", "carapaça", "denti_sup",
    "Копыта", "рога", "歯", "爪.001", "目", "金属", "右眼球", "갑옷", "이빨", "Mat_角",
)  # fmt: skip
NOT_HARD = (
    "", "Main", "Material.001", "Skin", "Body", "Default-effect", "Main_Light", "Muzzle", "Green", "Eyebrow", "Eye_Lid", "MetalSkin",
    "armhair", "Hornet", "Shelly", "角色材质", "項目", "肌", "髪", "面紗", "Stonewashed", "Nailah", "Haut", "piel", "кожа", "glassy", "12_3",
)  # fmt: skip


@pytest.mark.parametrize("name", HARD)
def test_is_hard_accepts(name):
    """The names of hard things count as hard in many languages."""
    assert is_hard(name) and is_hard(name.upper() if name.isascii() and "_" in name else name)


@pytest.mark.parametrize("name", NOT_HARD)
def test_is_hard_rejects(name):
    """Other names do not count as hard."""
    assert not is_hard(name)
