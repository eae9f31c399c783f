#!/usr/bin/env python3
"""Makes the Python wheel of an installed program that is one file, with nothing but Python and objdump.

    packaging/wheel.py TREE FOLDER     TREE/bin/ergometer is the program; the wheel is written into FOLDER

The wheel holds the Python module and the program as a script. Its tag says on which systems the program starts (PEP 600):
manylinux_2_35 is glibc 2.35 or newer.
"""
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUMMARY = "Predicts time, power and heat of LLM training jobs"


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def oldest_glibc(program):
    """The oldest on which the program starts."""
    if others := re.findall(r"NEEDED +((?!ld-linux|libc\.|libm\.)\S+)", output("objdump", "-p", program)):
        sys.exit(f"{program}: loads {', '.join(others)}, and so is not one file")
    needed = re.findall(r"\bGLIBC_(\d+)\.(\d+)", output("objdump", "-T", program))
    return max((int(major), int(minor)) for major, minor in needed)


class Wheel:
    """A zip file whose members, their order and their times say nothing about when it was made."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record):
        self.record.append(f"{record},,")
        self.archive.writestr(zipfile.ZipInfo(record, (1980, 1, 1, 0, 0, 0)), "\n".join(self.record) + "\n")
        self.archive.close()


def metadata(version):
    return f"""Metadata-Version: 2.1
Name: ergometer
Version: {version}
Summary: {SUMMARY}
License: Apache-2.0
Requires-Python: >=3.8
Provides-Extra: pandas
Requires-Dist: pandas; extra == 'pandas'
Description-Content-Type: text/markdown

{(ROOT / "docs/guide/call-from-python.md").read_text(encoding="utf-8")}"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    tree, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    program = tree / "bin/ergometer"
    version = output(program, "--version").split()[1]
    major, minor = oldest_glibc(program)
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    info, data = f"ergometer-{version}.dist-info", f"ergometer-{version}.data"
    path = folder / f"ergometer-{version}-{tag}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = Wheel(path)
    for file in sorted((ROOT / "python/ergometer").iterdir()):
        if file.suffix in (".py", ".typed"):
            wheel.add(f"ergometer/{file.name}", file.read_bytes())
    wheel.add(f"{data}/scripts/ergometer", program.read_bytes(), 0o755)
    documents = tree / "share/doc/ergometer"
    for licence in [documents / "copyright", *sorted((documents / "licences").iterdir())]:
        wheel.add(f"{info}/licenses/{licence.name}", licence.read_bytes())
    wheel.add(f"{info}/METADATA", metadata(version).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: ergometer\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.close(f"{info}/RECORD")
    print(path)


if __name__ == "__main__":
    main()
