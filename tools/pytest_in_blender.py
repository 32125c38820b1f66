# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs pytest and exits without Blender's own clean-up.

The module bpy 4.2 crashes at the interpreter's exit as soon as any extension has registered a property with an `update`
function, even if it was unregistered again (5.0 does not). The exit status would then say nothing about the tests.
"""

import os
import sys

import pytest

if __name__ == "__main__":  # processes that tests start read this file too
    status = int(pytest.main(sys.argv[1:]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
