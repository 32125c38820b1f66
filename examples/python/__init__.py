# SPDX-License-Identifier: MIT OR Apache-2.0
"""Six short programs: numpy in, numpy out, no data. `python -m examples.python.swinging_arm` runs one."""
