#!/usr/bin/env python3
"""Whether the terminal's colours (src/report/colours.h) and the live page's (src/serve/live.html) mean what the report
page's do (web/src/base/theme.ts)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def palette():
    """The 240 colours of a terminal of 256 that no user's theme changes."""
    levels = [0, 95, 135, 175, 215, 255]
    cube = {16 + 36 * r + 6 * g + b: (levels[r], levels[g], levels[b]) for r in range(6) for g in range(6) for b in range(6)}
    return cube | {232 + i: (8 + 10 * i,) * 3 for i in range(24)}


def nearest(light, dark):
    """The terminal's colour nearest to the middle of two written as #rrggbb."""
    middle = [sum(int(text[at:at + 2], 16) for text in (light, dark)) / 2 for at in (1, 3, 5)]
    return min(palette().items(), key=lambda it: sum((x - y) ** 2 for x, y in zip(it[1], middle)))[0]


def tokens_of(theme):
    return {name: pair for name, *pair in re.findall(r'^ +(\w+): \["(#\w{6})", "(#\w{6})"\]', theme, re.M)}


def live_faults(page, theme):
    """The same of the live page, whose style has the light colours first and the dark ones behind."""
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in page.split("prefers-color-scheme: dark")[:2])
    if len(light) < 10 or light.keys() != dark.keys():
        yield "src/serve/live.html: its colours are not found"
    for name in light:
        if [light[name], dark.get(name)] != tokens_of(theme).get(name):
            yield f"src/serve/live.html: {name} is {light[name]} and {dark.get(name)}, on the report page {tokens_of(theme).get(name)}"


def faults(header, theme):
    """What is wrong, a line each."""
    tokens = tokens_of(theme)
    kinds = dict(re.findall(r'(\w+): "(\w+)"', theme[theme.index("kKinds"):theme.index("seriesToken")]))
    rows = re.findall(r'\{"(\w+)", "(\w+)", "38;5;(\d+)"\}', header)
    if len(rows) < 10:
        yield "src/report/colours.h: its table is not found"
    for name, token, index in rows:
        on_page = name if name in ("good", "fair", "bad") else kinds.get(name, "other" if name == "other" else None)
        if on_page != token:
            yield f"{name}: the page's colour is {on_page}, the terminal's {token}"
        elif nearest(*tokens[token]) != int(index):
            yield f"{name}: the nearest to the page's {token} is 38;5;{nearest(*tokens[token])}, not 38;5;{index}"


def main():
    theme = (ROOT / "web/src/base/theme.ts").read_text()
    found = [*faults((ROOT / "src/report/colours.h").read_text(), theme),
             *live_faults((ROOT / "src/serve/live.html").read_text(), theme)]
    print("\n".join(found) or "terminal and pages have the same colours")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
