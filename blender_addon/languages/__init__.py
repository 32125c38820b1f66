# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of the interface in other languages: the translators' files, and their use."""
