# SPDX-License-Identifier: MIT OR Apache-2.0
"""The look of flesh relative to the plain skin: recorded motions, measures with bounds, tables and contact sheets."""
