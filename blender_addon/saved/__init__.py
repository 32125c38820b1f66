# SPDX-License-Identifier: GPL-3.0-or-later
"""What is saved in the .blend, and a look at what a file holds before it is believed."""
