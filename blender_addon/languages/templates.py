# SPDX-License-Identifier: GPL-3.0-or-later
"""Translates finished messages, without Blender.

Problem: messages are English sentences with names and numbers put in, made anywhere in the extension. By the time that the artist
sees one, its parts are joined.

Method: the sources' own f-strings are the templates, `“{0}” has flesh: a lattice of {1}.`. A message is compared with all of them,
the one with most fixed letters first. What stands at the braces is translated in turn (`3 cells`), and put into the translated template.
Messages of several sentences, those after `“Body”: ` and lists, `20 keys, 1 clip, 31 kB`, are translated part by part. A message
without template stays English.

Cost: some 1,500 comparisons, once for each message: results are kept. Can fail: two templates of equal letters that both fit; the
first in the file is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

#: A place of a template in which the sources put a name or a number.
PLACE = re.compile(r"\{(\d+)\}")
#: Number of fixed letters below which the places of a template take numbers, names and parts that have a translation: `{0} cells` fits
#: no sentence.
FEW_LETTERS = 9
#: Messages that are kept with their translation; panels draw the same few again and again.
MAX_KEPT = 2048

#: Quotation marks and full stops of languages that differ from English.
QUOTES = {"de_DE": "„“", "ja_JP": "「」"}
STOPS = {"ja_JP": "。", "zh_HANS": "。"}
#: Words between the names or numbers of a list, before its last one, and between the ends of a range.
SEMICOLONS = {"ja_JP": "、", "zh_HANS": "；"}
COMMAS = {"ja_JP": "、", "zh_HANS": "、"}
ANDS = {"de_DE": " und ", "ja_JP": "、", "zh_HANS": " 和 "}
RANGES = {"de_DE": " bis ", "ja_JP": "～", "zh_HANS": " 至 "}
BETWEEN = {", ": COMMAS, " and ": ANDS, " to ": RANGES}
NAME_OR_WORD = re.compile(r"“[^”]*”|, | and | to ")
#: Languages without spaces between words.
DENSE = {"ja_JP", "zh_HANS"}

ENDS = (".", "!", "?", "…", "。", "！", "？")
NAME_FIRST = re.compile(r"(Thew|“[^”]*”): (.+)", re.DOTALL)
SENTENCES = re.compile(r"(?<=[.!?…]) (?=[A-Z“0-9])")
PROGRESS = re.compile(r"(.+?)(?<! than)(?<! to)(,? \d+ %)")
REMARK = re.compile(r"(.+?)( ?)\(([^()]*)\)(\.?)")
QUOTED = re.compile(r"“([^”]*)”")
NUMBER = r"-?\d[\d.,]*"
NUMBERS = rf"{NUMBER}(?:(?:, | and | to ){NUMBER})*"
ODD_NUMBER = r"-?[\d.]+e[-+]?\d+|nan|-?inf"
#: A number with its unit, which is the same in all languages.
UNIT = re.compile(r" (?:[kMG]B|[mckµ]?m|m?s|Hz|%)(?!\w)")
MEASURE = re.compile(rf"({NUMBERS})({UNIT.pattern})")
LIST = re.compile(rf"“[^”]*”(?:(?:, | and )“[^”]*”)*|{NUMBERS}")
#: Separators of the parts of a list, outside of names and remarks; the first of them that it has counts.
SEPARATORS = ("; ", " · ", ", ", " and ")
OUTSIDE = r"(?![^“]*”)(?![^(]*\))"
SEVERAL = re.compile(f"(?:{'|'.join(SEPARATORS)}|: ){OUTSIDE}")
WORDS = dict(zip(SEPARATORS, (SEMICOLONS, {}, COMMAS, ANDS), strict=True))
#: A space of English between two signs of a language without spaces.
DENSE_SPACE = re.compile(
    r"(?<=[\u2018-\u201f\u3000-\u9fff\uff00-\uff60]) (?=[\u2018-\u201f\u3000-\u9fff\uff00-\uff60])"
)


def letters(source: str) -> int:
    """Returns the number of fixed letters of a template."""
    return sum(map(str.isalpha, PLACE.sub("", source)))


def is_quoted(source: str, place: re.Match[str]) -> bool:
    """Returns whether a place of a template stands in quotation marks."""
    return source[: place.start()].endswith("“") and source[place.end() :].startswith("”")


def places_of(source: str) -> list[tuple[int, bool]]:
    """Returns the number of each place of a template, and whether it holds a name."""
    return [(int(place[1]), is_quoted(source, place)) for place in PLACE.finditer(source)]


def literal(text: str) -> str:
    """Returns the pattern of fixed letters of a template."""
    return re.escape(text.replace("{{", "{").replace("}}", "}"))


def pattern_of(source: str) -> re.Pattern[str]:
    """Returns what the finished messages of a template look like; the full stop at the end may be missing.

    A place that is glued to what stands before it takes the end of a sentence, or nothing: `Bake plays{0}`.
    """
    source, few = source.rstrip("."), letters(source) < FEW_LETTERS
    parts, end = [], 0
    for match in PLACE.finditer(source):
        before = source[end : match.start()]
        parts.append(literal(before))
        if is_quoted(source, match):
            parts.append("([^”]*)")
        elif UNIT.match(source, match.end()):
            parts.append(f"({NUMBERS}|{ODD_NUMBER})")
        elif match.start() and not few and not before.endswith((" ", "(", "“", "/", "×")):
            parts.append(r"(|[^\w“].*?)")
        else:
            parts.append("(.+?)")
        end = match.end()
    parts.append(literal(source[end:]))
    if parts[0][:1].isalpha():  # `sentence` writes the first letter large
        parts[0] = f"[{parts[0][0].lower()}{parts[0][0].upper()}]{parts[0][1:]}"
    return re.compile("".join(parts) + r"\.?", re.DOTALL)


@dataclass
class Messages:
    """The messages of one language: translations by English template, and those of labels and tooltips, which stand in messages too."""

    language: str
    translations: dict[str, str]
    words: dict[str, str] = field(default_factory=dict)
    _kept: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], list[tuple[int, bool]], str, bool]]:
        """Holds pattern, places and translation of each template, and whether it has few letters. Those with most come first, after those of
        few letters that begin with one: whatever these hold is known, where `{0} baked keys` takes the beginning of a sentence too.

        A place in quotation marks holds a name, which is not translated: an object may be called “Softness”.
        """
        few = {each: letters(each) < FEW_LETTERS for each in self.translations}
        sources = sorted(few, key=lambda each: (not few[each] or each[0] == "{", -letters(each), -each.count("“")))
        return [(pattern_of(each), places_of(each), self.translations[each], few[each]) for each in sources]

    def translate(self, text: str) -> str:
        """Returns a message in this language, or as it is."""
        if text not in self._kept:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            found = self._translate(text)
            self._kept[text] = text if found is None else found
        return self._kept[text]

    def _translate(self, text: str) -> str | None:
        # First of all: the last place of a template would take `9, 13 %` for a number of its own.
        progress = PROGRESS.fullmatch(text)
        rest = self._translate(progress[1]) if progress else None
        if rest is not None:
            return rest + progress[2]
        parts = SENTENCES.split(text)
        told = [self._sentence(part) for part in parts] if len(parts) > 1 else [None]
        # Before the whole: a place of a template would take a piece of each sentence.
        if None not in told:
            return self._dense(" ".join(told))
        if found := self._list(text, SEPARATORS[:2]):
            return found
        if match := NAME_FIRST.fullmatch(text):
            rest = self._translate(match[2])
            colon = "：" if self.language in DENSE else ": "
            if rest is not None:
                return f"{self._quote(match[1])}{colon}{rest}"
        whole = self.words.get(text) or self._fit(text)
        if whole is not None:
            return whole
        if any(told):
            return self._dense(" ".join(new or old for new, old in zip(told, parts, strict=True)))
        if match := REMARK.fullmatch(text):
            rest = self._part(match[1])
            if rest is not None:
                inner = self._translate(f"({match[3]})") or f"({self._translate(match[3]) or self._quote(match[3])})"
                return rest + match[2] + inner + (STOPS.get(self.language, ".") if match[4] else "")
        return self._list(text)

    def _sentence(self, text: str) -> str | None:
        """Returns one of several sentences in this language; the sources may have it with the space before it."""
        found = self._translate(text)
        return found if found is not None or text[:1] == " " else (self._translate(f" {text}") or "").strip() or None

    def _fit(self, text: str) -> str | None:
        """Returns the translation by the first template that a message fits, None if it fits none."""
        for pattern, places, translation, few in self._patterns:
            match = pattern.fullmatch(text)
            if match is None:
                continue
            values: dict[int, str] = {}
            for (place, is_name), value in zip(places, match.groups(), strict=True):
                if not is_name and SENTENCES.search(value):
                    break  # a piece of the next sentence
                found = value if is_name else self._few(value) if few else self._value(value)
                if found is None:
                    break
                values[place] = found
            if len(values) < len(dict(places)):
                continue
            told = PLACE.sub(lambda place, values=values: values.get(int(place[1]), place[0]), translation)
            told = self._dense(told.replace("{{", "{").replace("}}", "}")).rstrip(".。")
            if text[:1].isupper():
                told = told[:1].upper() + told[1:]
            stop = STOPS.get(self.language, ".") if text.endswith(".") and not told.endswith(ENDS) else ""
            return told + stop
        return None

    def _value(self, value: str) -> str:
        """Returns a name, a number or a part of a sentence in this language; what has no translation as it is."""
        if found := self._part(value):
            return found
        bare = value.strip()
        found = self._part(bare) if bare != value else None
        return self._quote(value) if found is None else value.replace(bare, found)

    def _part(self, value: str) -> str | None:
        """Returns names, numbers or a part of a sentence in this language; None for what has no translation."""
        if LIST.fullmatch(value):
            return self._quote(NAME_OR_WORD.sub(self._word, value))
        if not any(map(str.isalpha, value)):
            return value
        if match := MEASURE.fullmatch(value):
            return f"{self._part(match[1])}{match[2]}"
        return self._translate(value)

    def _few(self, value: str) -> str | None:
        """Returns what a place of a template of few letters holds; None for several things, of which it takes none away, and for words."""
        is_one = LIST.fullmatch(value) or not SEVERAL.search(value)
        return self._part(value) if is_one else None

    def _word(self, match: re.Match[str]) -> str:
        """Returns what stands between the names or numbers of a list in this language; a name as it is."""
        return BETWEEN.get(match[0], {}).get(self.language, match[0])

    def _list(self, value: str, kinds: Sequence[str] = SEPARATORS) -> str | None:
        """Returns a list of names and of parts that have a translation, `“Arm” and itself`; None for anything else."""
        bare = value.removesuffix(".")
        for separator in kinds:
            parts = re.split(f"{separator}{OUTSIDE}", bare)
            if len(parts) > 1:
                told = [self._part(part) for part in parts]
                word = WORDS[separator].get(self.language, separator)
                stop = STOPS.get(self.language, ".") if bare != value else ""
                return None if None in told else word.join(told) + stop
        return None

    def _quote(self, text: str) -> str:
        """Returns a text with this language's quotation marks."""
        marks = QUOTES.get(self.language)
        return QUOTED.sub(lambda match: f"{marks[0]}{match[1]}{marks[1]}", text) if marks else text

    def _dense(self, text: str) -> str:
        """Returns a text without the spaces of English, where the language has none."""
        return DENSE_SPACE.sub("", text) if self.language in DENSE else text
