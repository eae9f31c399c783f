#!/usr/bin/env python3
"""Writes the man pages: what the program's --help says, in man's form.

    packaging/man_pages.py PROGRAM FOLDER     FOLDER/ergometer.1.gz, and ergometer-COMMAND.1.gz of every command
"""
import gzip
import pathlib
import re
import subprocess
import sys


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def roff(text):
    """Text as man takes it literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def options(lines):
    """Lines "  --name VALUE   what it does", and its further lines indented, as tagged paragraphs."""
    out = []
    for line in lines:
        if option := re.match(r"  (-.*?)(?:  +(.*))?$", line):
            out += [".TP", f".B {roff(option[1])}"]
            line = option[2] or ""
        if line.strip():
            out.append(roff(line.strip()))
    return out


def sections(text):
    """(heading, lines) of each part; what stands before the first heading has the heading ""."""
    parts = [("", [])]
    for line in text.splitlines():
        if line.startswith("Usage: "):
            parts += [("synopsis", [line[len("Usage: "):]])]
        elif re.match(r"\S.*:$", line):
            parts.append((line[:-1], []))
        elif line.strip():
            parts[-1][1].append(line)
    return parts


def page(name, summary, version, help_text, see_also):
    out = [f'.TH "{name.upper()}" 1 "" "Ergometer {version}"', ".SH NAME", f"{roff(name)} \\- {roff(summary)}"]
    for heading, lines in sections(help_text):
        if heading:
            out.append(f".SH {roff(heading.upper())}")
        if lines and lines[0].startswith("  -"):
            out += options(lines)
        elif heading:
            out += [".nf", *(roff(line.strip()) for line in lines), ".fi"]
    return "\n".join(out + [".SH SEE ALSO", ", ".join(f"{roff(other)}(1)" for other in see_also)]) + "\n"


def commands(help_text):
    """{name: summary} of the commands that the program's help lists."""
    listed = dict(sections(help_text))["Commands"]
    return dict(re.match(r"  (\S+) +(.*)", line).groups() for line in listed if line.startswith("  "))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    version = output(program, "--version").split()[1]
    help_text = output(program, "--help")
    known = commands(help_text)
    pages = {"ergometer": page("ergometer", "predict time, power and heat of LLM training jobs", version, help_text,
                               [f"ergometer-{name}" for name in known])}
    for name, summary in known.items():
        pages[f"ergometer-{name}"] = page(f"ergometer-{name}", summary, version,
                                          output(program, name, "--help=all"), ["ergometer"])
    for name, text in pages.items():
        (folder / f"{name}.1.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
