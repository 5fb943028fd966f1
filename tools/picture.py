#!/usr/bin/env python3
"""Prints a picture (SVG) of a command and its output in a terminal: picture.py "SHOWN" COMMAND…

SHOWN is the command line that the picture shows. The output's colours are those of its escape sequences.
"""
import re
import subprocess
import sys
from html import escape

COLUMN, LINE, MARGIN, BAR = 8.4, 20, 16, 36
# Styles of the escape sequences that the program writes.
STYLES = {"1": "font-weight=\"bold\" fill=\"#ffffff\"", "2": "fill=\"#8b949e\"", "31": "fill=\"#ff7b72\"",
          "32": "fill=\"#7ee787\"", "33": "fill=\"#f2cc60\"", "34": "fill=\"#79c0ff\"", "35": "fill=\"#d2a8ff\"",
          "36": "fill=\"#76e3ea\""}


def spans(line):
    """The parts of a line: column, text, style."""
    column, style = 0, ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            words = [word for word in part[2:-1].split(";") if word]
            unknown = [word for word in words if word not in STYLES and word != "0"]
            if unknown:
                raise SystemExit(f"picture.py: no style for the escape sequence {unknown}")
            style = " ".join(STYLES[word] for word in words if word != "0")
        elif part:
            yield column, part, style
            column += len(part)


def picture(lines):
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    width = round(max(map(len, plain)) * COLUMN + 2 * MARGIN)
    height = BAR + len(lines) * LINE + MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
           f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>']
    out += [f'<circle cx="{20 + 20 * at}" cy="18" r="6" fill="{colour}"/>'
            for at, colour in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))]
    out.append('<g font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14" fill="#c9d1d9" '
               'xml:space="preserve">')
    for row, line in enumerate(lines):
        y = BAR + (row + 1) * LINE - 6
        for column, text, style in spans(line):
            if text.strip():
                start = len(text) - len(text.lstrip())
                x, shown = MARGIN + (column + start) * COLUMN, text.strip()
                out.append(f'<text x="{x:.1f}" y="{y}" textLength="{len(shown) * COLUMN:.1f}"{" " + style if style else ""}>'
                           f'{escape(shown, quote=False)}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def main():
    shown, *command = sys.argv[1:]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.stderr:
        raise SystemExit(done.stderr)
    print(picture([f"\x1b[2m$\x1b[0m \x1b[1m{shown}\x1b[0m", *done.stdout.rstrip("\n").split("\n")]), end="")


if __name__ == "__main__":
    main()
