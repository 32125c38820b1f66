# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of [choi2003] made anew: each module computes one, renders it and prints the numbers it shows."""
