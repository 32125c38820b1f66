# SPDX-License-Identifier: MIT OR Apache-2.0
"""How flesh looks beside the plain skin: recorded motions, measures with bounds, tables and contact sheets."""
