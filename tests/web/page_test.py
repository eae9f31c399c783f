#!/usr/bin/env python3
"""Installs what the report page's tests need as web/package-lock.json pins it, then runs them. 77: a program is missing."""
import hashlib
import pathlib
import shutil
import subprocess
import sys

WEB = pathlib.Path(__file__).resolve().parents[2] / "web"


def installed():
    """The lock file that node_modules was made from; npm ci takes longer than the tests' start otherwise."""
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    stamp = WEB / "node_modules" / ".ergometer-lock"
    if stamp.exists() and stamp.read_text() == lock:
        return True
    if subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=WEB).returncode != 0:
        return False
    stamp.write_text(lock)
    return True


def main():
    missing = [name for name in ("node", "npm", "chromium") if not shutil.which(name)]
    if missing:
        print(f"not here: {', '.join(missing)} (scripts/install-dependencies.sh --tests installs them)")
        return 77
    if not installed():
        print("npm ci failed: its packages are out of reach, so nothing was tested", file=sys.stderr)
        return 77
    return subprocess.run(["npm", "test"], cwd=WEB).returncode


if __name__ == "__main__":
    sys.exit(main())
