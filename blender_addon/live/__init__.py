# SPDX-License-Identifier: GPL-3.0-or-later
"""Live native objects behind each mesh, and the code that keeps them up to date with the scene."""
