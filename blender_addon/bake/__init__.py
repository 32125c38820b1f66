# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes: motion written into the file, so that it plays and exports without this extension."""
