#!/usr/bin/env python3
"""The Debian package and the wheel, made and installed in a fresh Debian 12 that has neither a compiler nor our libraries, and
the README's main job run there. Skipped where such a root cannot be made: without root, mmdebstrap or a mirror.

    tests/package/clean_root_test.py

The root is kept in build/clean-root, so that only the first run asks the mirror.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "build/clean-root"
MAIN_JOB = ["simulate", "llama3-70b", "--cluster", "charllm-h200", "--gpus", "32", "--tp", "4", "--pp", "4",
            "--mbs", "1", "--gbs", "128", "--seq-length", "8192"]
SKIPPED = 77


def made(kind):
    """The package, made by the one script."""
    done = subprocess.run([ROOT / "scripts/package.sh", kind], check=True, stdout=subprocess.PIPE, text=True)
    return ROOT / done.stdout.strip()


def root_archive(needed):
    """A Debian with Python, and the package's libraries as files that apt may install without a mirror; None: cannot be had."""
    name = re.sub(r"[^a-z0-9]+", "-", needed)
    archive = KEPT / f"{name}.tar"
    if archive.is_file():
        return archive
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        return None
    KEPT.mkdir(parents=True, exist_ok=True)
    half = archive.with_suffix(".half.tar")
    done = subprocess.run(
        ["mmdebstrap", "--mode=root", "--variant=apt", "--include=python3-venv,man-db", "--skip=cleanup/apt",
         f'--customize-hook=chroot "$1" apt-get install -y --no-install-recommends --download-only {needed}', "bookworm",
         half], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(done.stderr)
        return None
    return half.rename(archive)


class CleanRoot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="clean-root-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["tar", "-x", "-C", self.root, "-f", ARCHIVE], check=True)
        # The loader asks it where the program lies.
        subprocess.run(["mount", "--bind", "/proc", self.root / "proc"], check=True)
        self.addCleanup(subprocess.run, ["umount", self.root / "proc"], check=True)

    def inside(self, *words, status=0):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "TZ": "UTC",
                       "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(["chroot", self.root, *words], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def expect_main_job(self, program):
        self.assertEqual(self.inside(program, *MAIN_JOB), EXPECTED)

    def test_debian_package(self):
        shutil.copy(DEB, self.root / "root")
        started = time.monotonic()
        self.inside("apt-get", "install", "-y", "--no-install-recommends", f"/root/{DEB.name}")
        self.expect_main_job("ergometer")
        print(f"from the .deb to the answer: {time.monotonic() - started:.1f} s")
        self.assertIn("--tensor-model-parallel-size", self.inside("man", "ergometer-simulate"))
        self.assertIn("--cluster", self.inside("bash", "-c", """
            . /usr/share/bash-completion/completions/ergometer
            COMP_WORDS=(ergometer simulate --clu) COMP_CWORD=2; _ergometer; echo "${COMPREPLY[@]}" """))
        self.assertFalse((self.root / "etc/systemd/system/multi-user.target.wants/ergometer-record.service").exists())
        self.expect_the_service_records()
        self.inside("dpkg", "--remove", "ergometer")
        self.inside("test", "-e", "/usr/bin/ergometer", status=1)

    def expect_the_service_records(self):
        unit = (self.root / "usr/lib/systemd/system/ergometer-record.service").read_text()
        command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1]
        options = re.search(r'^Environment="OPTIONS=(.*)"$', unit, re.MULTILINE)[1]
        command = command.replace("24h", "1s").replace("$OPTIONS", f"{options} --out /root/node.run")
        self.inside(*command.split())
        self.assertTrue((self.root / "root/node.run").is_file())

    def test_wheel(self):
        shutil.copy(WHEEL, self.root / "root")
        started = time.monotonic()
        self.inside("python3", "-m", "venv", "/root/venv")
        self.inside("/root/venv/bin/pip", "install", "--no-index", f"/root/{WHEEL.name}")
        self.expect_main_job("/root/venv/bin/ergometer")
        print(f"from the wheel to the answer: {time.monotonic() - started:.1f} s")
        self.assertEqual(self.inside("/root/venv/bin/python", "-c", """
import ergometer
job = ergometer.simulate("llama3-70b", cluster="charllm-h200", gpus=32, tp=4, pp=4, mbs=1, gbs=128, seq_length=8192)
print(ergometer.program(), job.summary(), sep="\\n", end="")"""), "/root/venv/bin/ergometer\n" + EXPECTED)
        self.inside("/root/venv/bin/pip", "uninstall", "-y", "ergometer")
        self.inside("test", "-e", "/root/venv/lib/ergometer/libfmt.so.9", status=1)


if __name__ == "__main__":
    DEB, WHEEL = made("deb"), made("wheel")
    fields = subprocess.run(["dpkg-deb", "--field", DEB, "Depends"], check=True, capture_output=True, text=True).stdout
    ARCHIVE = root_archive(re.sub(r" *\(.*?\)|,", "", fields).strip())
    if ARCHIVE is None:
        sys.exit(SKIPPED)
    EXPECTED = subprocess.run([ROOT / "build/release/ergometer", *MAIN_JOB], check=True, capture_output=True, text=True,
                              env={"LC_ALL": "C.UTF-8"}).stdout
    unittest.main()
