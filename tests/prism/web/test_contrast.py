"""Colours of texts against what is behind them: at least 4.5 (WCAG 2.2, 1.4.3)."""

import re
from pathlib import Path

import pytest

STYLE = (Path(__file__).parents[3] / "prism" / "web" / "style.css").read_text()
TEXTS = ("text", "muted", "accent", "critical", "warning", "info", "good")
BEHIND = ("bg", "surface", "lane", "wash")


def tokens(theme):
    block = re.search(r":root {(.*?)}" if theme == "light" else r':root\[data-theme="dark"\] {(.*?)}', STYLE, re.DOTALL)[1]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_can_be_read(theme):
    known = tokens(theme)
    pairs = [(text, behind) for text in TEXTS for behind in BEHIND] + [("accent-ink", "accent")]
    low = {}
    for text, behind in pairs:
        dark, light = sorted((luminance(known[text]), luminance(known[behind])))
        if (ratio := (light + 0.05) / (dark + 0.05)) < 4.5:
            low[text, behind] = round(ratio, 2)
    assert low == {}
