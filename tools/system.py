# SPDX-License-Identifier: MIT OR Apache-2.0
"""System packages: missing ones are installed if permitted; otherwise the exact command is printed."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from ctypes.util import find_library
from pathlib import Path

from tools.shell import BuildError, capture, run, say

# Libraries that `import bpy` needs on Debian 12 beyond a bare C runtime (ldd over every library in bpy 4.2 and 5.0).
BLENDER_LIBRARIES = [
    "libegl1",
    "libgl1",
    "libgomp1",
    "libice6",
    "libopengl0",
    "libsm6",
    "libx11-6",
    "libxext6",
    "libxfixes3",
    "libxi6",
    "libxkbcommon0",
    "libxrender1",
    "libxt6",
    "libxxf86vm1",
]

# A software graphics device, so that its engine is tested on machines without a real one.
SOFTWARE_GPU = ["libvulkan1", "mesa-vulkan-drivers"]


# apt-get refuses to run twice at a time.
_installing = threading.Lock()


def install(packages: list[str], reason: str) -> None:
    """Installs Debian packages as root or through sudo without a password. Otherwise raises a BuildError with the command."""
    apt = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if shutil.which("apt-get"):
        prefix = _superuser()
        if prefix is not None:
            say(f"{reason}: installing {' '.join(packages)}")
            quiet = {"DEBIAN_FRONTEND": "noninteractive"}
            with _installing:
                run([*prefix, "apt-get", "update", "-q"], env=quiet)
                run([*prefix, *apt], env=quiet)
            return
    raise BuildError(f"{reason}. Please install it and call this again:\n    sudo {' '.join(apt)}")


def require_rust() -> None:
    """Checks for cargo and the C compiler that it links with."""
    if not shutil.which("cargo"):
        raise BuildError(
            "No Rust toolchain was found. Please install one and call this again:\n"
            "    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y"
        )
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        install(["gcc", "libc6-dev"], "Rust needs a C compiler to link with")


def software_gpu() -> bool:
    """Returns whether Mesa's software driver is present, after trying to install it.

    Without it a test may find no graphics device.
    """
    if sys.platform != "linux":
        return False
    folders = (Path("/usr/share/vulkan/icd.d"), Path("/etc/vulkan/icd.d"))
    if find_library("vulkan") and any(any(folder.glob("lvp_icd*.json")) for folder in folders):
        return True
    try:
        install(SOFTWARE_GPU, "The engine for graphics devices is tested on Mesa's software driver")
    except BuildError as error:
        say(f"{error}\nUntil then that engine is tested only where there is a graphics device.")
        return False
    return True


def _superuser() -> list[str] | None:
    """Returns the words to put before a command that needs root; `None` if we may not become root."""
    if os.name == "posix" and os.geteuid() == 0:
        return []
    if shutil.which("sudo") and capture(["sudo", "-n", "true"])[0] == 0:
        return ["sudo", "-n"]
    return None
