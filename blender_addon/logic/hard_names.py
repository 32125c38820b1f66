# SPDX-License-Identifier: GPL-3.0-or-later
"""Recognition of hard materials and meshes by their names: horn, teeth, armour, in ten languages.

A name is cut into words at separators, capitals and digits. It is hard if one of its words is, and no word says that it is soft
after all (*Metal Skin*, *Eye Lid*).
"""

from __future__ import annotations

import re
import unicodedata

WORDS = re.compile(r"[^\W\d_]+")
CAMEL_CASE_PATTERN = re.compile(r"(?<=[a-z])(?=[A-Z])")

#: Singular and plural: of bodies, of armour and tools, of materials. English, German, French, Spanish, Portuguese, Italian,
#: Russian.
_HARD_WORDS = """
antler antlers beak bone bones carapace claw claws eye eyes eyeball eyeballs fang fangs hoof hooves hoofs horn horns nail nails
shell skull talon talons teeth tooth tusk tusks
armor armour blade buckle gun helm helmet rifle shield sword visor weapon
bronze chrome glass iron metal metallic rock steel stone wood wooden
auge augen geweih hörner huf hufe klaue klauen knochen kralle krallen nägel panzer schnabel schädel zahn zähne
rüstung schild schwert waffe
eisen glas holz metall stahl stein
bec corne cornes dent dents griffe griffes oeil œil ongle ongles os sabot sabots yeux crâne
arme armure bouclier casque épée
acier bois fer métal pierre verre
caparazón colmillo colmillos cuerno cuernos diente dientes garra garras hueso huesos ojo ojos pezuña pezuñas pico uña uñas
arma armadura casco cascos escudo espada yelmo
acero hierro madera piedra vidrio
bico carapaça chifre chifres dente dentes olho olhos osso ossos unha unhas capacete
aço ferro madeira pedra vidro
artigli artiglio becco corna corno denti guscio occhi occhio ossa unghia unghie zoccoli zoccolo
armatura elmo scudo spada acciaio legno metallo pietra vetro
глаз глаза зуб зубы клюв когти коготь копыта копыто кости кость ногти ноготь панцирь рог рога череп
броня доспех доспехи меч оружие шлем щит
дерево железо камень металл сталь стекло
"""
HARD_WORDS = frozenset(unicodedata.normalize("NFC", _HARD_WORDS).split())

#: Words for soft things, or for things that lie on hard ones.
_SOFT_WORDS = """
belly blanket body brow brows cloth cloths coat fabric flesh fur hair lash lashes leather lid lids skin socket sockets strap
bauch fell haar haare haut kleidung leder stoff
chair cheveux cuir peau tissu
carne cuero pelo piel ropa tela
cabelo couro pele roupa
capelli pelle pelo stoffa
волосы кожа мех одежда ткань
"""
SOFT_WORDS = frozenset(unicodedata.normalize("NFC", _SOFT_WORDS).split())

#: Words of scripts without spaces, Japanese, Chinese and Korean: those that count within a longer name, and those that count as a
#: whole word.
HARD_SUBSTRINGS = ("くちばし", "甲羅", "眼球", "目玉", "白目", "金属", "金屬", "盔甲", "牙齿", "牙齒", "眼睛", "龟壳", "鹿角", "牛角", "발톱", "발굽", "이빨", "갑옷", "금속", "방패", "투구")  # fmt: skip
HARD_WHOLE_WORDS = frozenset("角蹄爪歯牙齿齒目眼瞳嘴喙壳殼甲鎧铠盔兜骨鉄铁鐵钢鋼盾剣剑劍뿔눈뼈검") | {
    "ツノ",
    "ツメ",
    "キバ",
    "부리",
}


def is_hard(name: str) -> bool:
    """Returns whether a name is of something hard."""
    name = unicodedata.normalize("NFC", name)
    words = [word.lower() for part in WORDS.findall(name) for word in CAMEL_CASE_PATTERN.split(part)]
    if any(word in SOFT_WORDS for word in words):
        return False
    return any(
        word in HARD_WORDS or word in HARD_WHOLE_WORDS or any(part in word for part in HARD_SUBSTRINGS)
        for word in words
    )
