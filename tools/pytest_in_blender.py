# SPDX-License-Identifier: MIT OR Apache-2.0
"""pytest, left without Blender's own farewell.

The module bpy 4.2 dies at exit of the interpreter as soon as any add-on has registered a property with an
`update` function, even if it was unregistered again (5.0 does not), so the exit status would say nothing
about the tests.
"""

import os
import sys

import pytest

status = int(pytest.main(sys.argv[1:]))
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
