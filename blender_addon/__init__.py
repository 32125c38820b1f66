# SPDX-License-Identifier: GPL-3.0-or-later
"""Thew for Blender."""


def register() -> None:
    pass


def unregister() -> None:
    pass
