#!/usr/bin/env python3
"""Reads terminal text with ANSI colours on standard input, writes it as an SVG picture of a terminal.

    CLICOLOR_FORCE=1 ergometer simulate ... | scripts/ansi_to_svg.py "ergometer simulate ..." > picture.svg
"""
import re
import sys
from html import escape

WIDTH, HEIGHT, MARGIN, BAR = 8.4, 19, 18, 30  # of a character cell, around the text, of the title bar; in pixels
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd"}


def style_of(codes):
    """SVG attributes for the parameters of one escape sequence."""
    style = []
    for code in codes.split(";"):
        if code == "1":
            style.append('font-weight="bold"')
        elif code == "2":
            style.append('fill-opacity="0.55"')
        elif code in COLOURS:
            style.append(f'fill="{COLOURS[code]}"')
    return " ".join(style)


def pieces(line):
    """(column, text, style) for every run of equal style."""
    column, style = 0, ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            style = style_of(part[2:-1])
        elif part:
            yield column, part, style
            column += len(part)


def svg(lines, title):
    columns = max(80, max((sum(len(text) for _, text, _ in pieces(line)) for line in lines), default=0))
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + BAR + 2 * MARGIN - 6
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title, quote=True)}">',
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
    ]
    for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        out.append(f'<circle cx="{20 + 18 * i}" cy="18" r="5.5" fill="{colour}"/>')
    out.append('<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
               'font-size="14" fill="#e6edf3" xml:space="preserve" style="white-space: pre">')
    for row, line in enumerate(lines):
        y = BAR + MARGIN + row * HEIGHT + 8
        for column, text, style in pieces(line):
            column, text = column + len(text) - len(text.lstrip()), text.strip()
            if text:
                # textLength keeps the columns whatever font the reader has.
                out.append(f'<text x="{MARGIN + column * WIDTH:.1f}" y="{y}" textLength="{len(text) * WIDTH:.1f}" '
                           f'lengthAdjust="spacingAndGlyphs"{" " + style if style else ""}>{escape(text)}</text>')
    return "\n".join(out + ["</g>", "</svg>", ""])


if __name__ == "__main__":
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    text = sys.stdin.read().rstrip("\n").split("\n")
    sys.stdout.write(svg(([f"$ {command}", ""] if command else []) + text, command))
