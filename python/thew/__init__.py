# SPDX-License-Identifier: MIT OR Apache-2.0
"""Physically based rigging and secondary motion for skinned characters."""
