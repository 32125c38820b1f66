# SPDX-License-Identifier: GPL-3.0-or-later
"""What is saved in the .blend, looked at before it is believed; the scene's units as metres and seconds."""
