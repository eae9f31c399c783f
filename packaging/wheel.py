#!/usr/bin/env python3
"""Makes the Python wheel of an installed program, with nothing but Python, ldd and objdump.

    packaging/wheel.py TREE FOLDER     TREE/bin/ergometer is the program; the wheel is written into FOLDER

The wheel holds the Python module, the program as a script, and in lib/ergometer, where the program's RPATH finds them, every
library that it needs but glibc's and g++'s, which every system has (PEP 600). Its tag says on which systems these are new
enough: manylinux_2_35 is glibc 2.35 or newer.
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
OF_THE_SYSTEM = re.compile(r"(ld-linux|linux-vdso|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s)\.so)")
# Systems with this glibc are the first to have this libstdc++ (GLIBCXX_3.4.N): of g++ 10, 11, 12, 13.
GLIBC_OF_LIBSTDCXX = {28: (2, 32), 29: (2, 34), 30: (2, 35), 31: (2, 38), 32: (2, 38)}
SUMMARY = "Predicts time, power and heat of LLM training jobs"


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """What the program loads, less what is every system's: [(name, path)]."""
    found = re.findall(r"^\s*(\S+) => (\S+)", output("ldd", program), re.MULTILINE)
    if missing := [name for name, path in found if path == "not"]:
        sys.exit(f"{program}: these libraries are not installed: {', '.join(missing)}")
    return sorted((name, pathlib.Path(path)) for name, path in found if not OF_THE_SYSTEM.match(name))


def oldest_glibc(files):
    """The oldest on which all of these files start."""
    symbols = "".join(output("objdump", "-T", file) for file in files)
    needed = [(int(major), int(minor)) for major, minor in re.findall(r"\bGLIBC_(\d+)\.(\d+)", symbols)]
    libstdcxx = max(int(minor) for minor in re.findall(r"\bGLIBCXX_3\.4\.(\d+)", symbols))
    if libstdcxx >= min(GLIBC_OF_LIBSTDCXX):
        needed.append(GLIBC_OF_LIBSTDCXX[libstdcxx])
    return max(needed)


def licence_of(library):
    """The copyright file of the Debian package that the library is from: (package, file)."""
    for path in (library, library.resolve(), pathlib.Path("/usr") / library.relative_to("/")):
        owner = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True)
        if owner.returncode == 0:
            package = owner.stdout.split(":")[0]
            return package, pathlib.Path("/usr/share/doc") / package / "copyright"
    sys.exit(f"{library}: no package is known that it is from, and so no licence")


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
    program, folder = pathlib.Path(sys.argv[1]) / "bin/ergometer", pathlib.Path(sys.argv[2])
    version = output(program, "--version").split()[1]
    needed = libraries(program)
    major, minor = oldest_glibc([program, *(path for _, path in needed)])
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    info, data = f"ergometer-{version}.dist-info", f"ergometer-{version}.data"
    path = folder / f"ergometer-{version}-{tag}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = Wheel(path)
    for file in sorted((ROOT / "python/ergometer").iterdir()):
        if file.suffix in (".py", ".typed"):
            wheel.add(f"ergometer/{file.name}", file.read_bytes())
    wheel.add(f"{data}/scripts/ergometer", program.read_bytes(), 0o755)
    licences = {"ergometer": ROOT / "LICENSE"}
    for name, library in needed:
        wheel.add(f"{data}/data/lib/ergometer/{name}", library.read_bytes(), 0o755)
        package, licence = licence_of(library)
        licences[package] = licence
    for package, licence in sorted(licences.items()):
        wheel.add(f"{info}/licenses/{package}", licence.read_bytes())
    wheel.add(f"{info}/METADATA", metadata(version).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: ergometer\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.close(f"{info}/RECORD")
    print(path)


if __name__ == "__main__":
    main()
