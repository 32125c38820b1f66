# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact settings of one mesh: with itself, with other flesh and with colliders."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, FloatProperty, PointerProperty, StringProperty

from .edit_callbacks import setting


class ContactProperties:
    """Mix-in of `ThewSettings` for contact."""

    use_contact: setting(
        BoolProperty,
        "Contact",
        "Keep the skin from passing through itself and through objects. A simulation takes a few times as long. "
        "While you pose by hand, skins are parted only where joints fold",
        default=False,
    )
    self_contact: setting(
        BoolProperty,
        "Self",
        "Parts of this character push each other away. When off, they pass through each other",
        default=True,
    )
    use_colliders: setting(
        BoolProperty,
        "Colliders",
        "Objects with Collision physics push the flesh, and it rubs on them. Their Thickness Outer is kept as a gap; "
        "Friction 0 to 80 there is 0 to 0.8 here",
        default=True,
    )
    collider_collection: setting(
        PointerProperty,
        "Collection",
        "Collide only with the objects of this collection that have Collision physics; empty: all of the scene",
        type=bpy.types.Collection,
    )
    use_other_flesh: setting(
        BoolProperty,
        "Other Flesh",
        "All objects of the scene with this option are simulated together and push each other: two dancers, a rider "
        "and a horse. Rest Pose Preview shows each by itself",
        default=False,
    )
    contact_thickness: setting(
        FloatProperty,
        "Thickness",
        "Distance that skin keeps from what it touches; 0 lets it rest on it. Between skins, more than a tenth of a "
        "block of Detail makes no difference",
        default=0.0,
        min=0.0,
        max=1000.0,
        soft_max=0.1,
        step=0.1,
        precision=4,
        subtype="DISTANCE",
    )
    contact_friction: setting(
        FloatProperty,
        "Friction",
        "Friction between touching skins: 0 slides like wet skin, 0.3 is dry skin, 1 hardly slides",
        default=0.3,
        min=0.0,
        max=10.0,
        soft_max=1.0,
    )
    contact_ignore: setting(
        StringProperty,
        "Ignore",
        "Vertex group of parts without contact, where its weight is above a half: teeth, eyelids, fingers that are "
        "meant to pass through",
        default="",
    )
    show_contacts: BoolProperty(
        name="Show Contacts",
        description="Draw where the skin touches in this frame: light where it hardly presses, red where it "
        "presses hardest, purple where bones fold it and contact cannot help",
        default=False,
    )
