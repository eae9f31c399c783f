#!/usr/bin/env python3
"""Fails when web/dist/report.html was not built from the sources beside it. Needs no Node: the page carries a hash of them."""
import hashlib
import pathlib
import re
import sys

WEB = pathlib.Path(__file__).resolve().parents[2] / "web"
MOST_BYTES = 1_000_000


def source_hash(web):
    """web/build.mjs computes the same: keep the two alike."""
    names = [path.relative_to(web).as_posix() for path in (web / "src").rglob("*") if path.is_file()]
    names += ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode() + b"\0" + (web / name).read_bytes() + b"\0")
    return digest.hexdigest()


def problems(web):
    page = web / "dist" / "report.html"
    if not page.exists():
        return [f"{page} is missing: run npm ci and node build.mjs in web/"]
    text = page.read_text(encoding="utf-8")
    found = re.search(r'<meta name="ergometer-page-source" content="([0-9a-f]{64})">', text)
    result = []
    if not found or found[1] != source_hash(web):
        result.append("web/dist/report.html was built from other sources: run npm ci and node build.mjs in web/, and commit it")
    if text.count("<!--ERGOMETER-DATA-->") != 1:
        result.append("web/dist/report.html must hold the marker of the data exactly once")
    if len(text) >= MOST_BYTES:
        result.append(f"web/dist/report.html has {len(text)} bytes; it must stay under {MOST_BYTES}")
    lock = (web / "package-lock.json").read_text(encoding="utf-8")
    if '"resolved"' in lock:
        result.append("web/package-lock.json names registry hosts: make it with web/.npmrc in force")
    return result


if __name__ == "__main__":
    found = problems(WEB)
    for problem in found:
        print(problem, file=sys.stderr)
    sys.exit(1 if found else 0)
