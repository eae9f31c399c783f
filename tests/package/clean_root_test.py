#!/usr/bin/env python3
"""The Debian package, the wheel, the program that is one file and what the container recipe does, each made and installed in a
fresh Debian 12 that has neither a compiler nor our libraries, and the README's main job run there; a C++ program that was built
with the package's header and library too. Skipped where such a root cannot be made: without root, mmdebstrap or a mirror.

    tests/package/clean_root_test.py

The root is kept in build/clean-root, so that only the first run asks the mirror.
"""
import json
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
    done = subprocess.run([ROOT / "scripts/package.sh", kind], stdout=subprocess.PIPE, text=True)
    if done.returncode == 3:
        sys.exit(SKIPPED)
    done.check_returncode()
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

    def expect_main_job(self, *program, what="", since=0.0):
        """Says how long the answer took since a moment; the goal is a minute, which a busy machine may miss."""
        self.assertEqual(self.inside(*program, *MAIN_JOB), EXPECTED)
        print(f"from {what} to the answer: {time.monotonic() - since:.1f} s")

    def test_debian_package(self):
        shutil.copy(DEB, self.root / "root")
        started = time.monotonic()
        self.inside("apt-get", "install", "-y", "--no-install-recommends", f"/root/{DEB.name}")
        self.expect_main_job("ergometer", what="the .deb", since=started)
        self.expect_the_library_answers()
        self.assertIn("--tensor-model-parallel-size", self.inside("man", "ergometer-simulate"))
        self.assertIn("--cluster", self.inside("bash", "-c", """
            . /usr/share/bash-completion/completions/ergometer
            COMP_WORDS=(ergometer simulate --clu) COMP_CWORD=2; _ergometer; echo "${COMPREPLY[@]}" """))
        self.assertFalse((self.root / "etc/systemd/system/multi-user.target.wants/ergometer-record.service").exists())
        self.expect_the_service_records()
        for installed in ("monitoring/rules.yml", "slurm/prolog", "kubernetes/daemonset.yaml"):
            self.inside("test", "-s", f"/usr/share/ergometer/{installed}")
        self.inside("dpkg", "--remove", "ergometer")
        self.inside("test", "-e", "/usr/bin/ergometer", status=1)

    def expect_the_library_answers(self):
        with tempfile.TemporaryDirectory() as name:
            tree, build = pathlib.Path(name) / "tree", pathlib.Path(name) / "build"
            subprocess.run(["dpkg-deb", "--extract", DEB, tree], check=True)
            subprocess.run(["cmake", "-S", ROOT / "examples/cpp", "-B", build, f"-DCMAKE_PREFIX_PATH={tree}/usr",
                            "-DCMAKE_CXX_FLAGS=-std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror"],
                           check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
            shutil.copy(build / "admit", self.root / "root")
            symbols = subprocess.run(["nm", "-D", "--defined-only", tree / "usr/lib/libergometer.so.0"], check=True,
                                     capture_output=True, text=True).stdout.split("\n")[:-1]
        self.assertEqual([line for line in symbols if not re.search(r"@@ERGOMETER_0$| A ERGOMETER_0$", line)], [])
        example = (ROOT / "examples/cpp/admit.cpp").read_text(encoding="utf-8")
        self.assertLessEqual(example.count("\n"), 40)
        page = (ROOT / "docs/guide/call-from-cpp.md").read_text(encoding="utf-8")
        self.assertIn(example, page)
        job = "examples/llama3-70b-h200.yaml"
        shown = re.search(rf"^\$ build/admit 25 {job}\n(.*?)^\$", page, re.MULTILINE | re.DOTALL)[1]
        self.assertEqual(self.inside("/root/admit", "25", f"/usr/share/doc/ergometer/{job}", status=1), shown)

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
        self.expect_main_job("/root/venv/bin/ergometer", what="the wheel", since=started)
        self.assertEqual(self.inside("/root/venv/bin/python", "-c", """
import ergometer
job = ergometer.simulate("llama3-70b", cluster="charllm-h200", gpus=32, tp=4, pp=4, mbs=1, gbs=128, seq_length=8192)
print(ergometer.program(), job.summary(), sep="\\n", end="")"""), "/root/venv/bin/ergometer\n" + EXPECTED)
        self.inside("/root/venv/bin/pip", "uninstall", "-y", "ergometer")
        self.inside("test", "-e", "/root/venv/bin/ergometer", status=1)

    def test_binary(self):
        shutil.copy(BINARY, self.root / "root")
        folder = f"/root/{BINARY.name[:-len('.tar.gz')]}"
        started = time.monotonic()
        self.inside("tar", "-C", "/root", "-xf", f"/root/{BINARY.name}")
        self.expect_main_job(f"{folder}/bin/ergometer", what="the program that is one file", since=started)
        self.assertIn("--tensor-model-parallel-size", self.inside("man", f"{folder}/share/man/man1/ergometer-simulate.1.gz"))
        self.inside("test", "-s", f"{folder}/share/doc/ergometer/licences/libfmt-dev")

    def test_container_recipe(self):
        """What its last stage does, done to this root: there may be neither an engine nor its images here."""
        recipe = re.sub(r"^#.*\n", "", (ROOT / "packaging/Containerfile").read_text(), flags=re.MULTILINE)
        lines = recipe.split("\nFROM ")[-1].splitlines()
        self.assertEqual(lines[0], "debian:bookworm-slim")
        steps = [line.split(" ", 1) for line in lines[1:]]
        self.assertEqual([name for name, _ in steps], ["COPY", "RUN", "WORKDIR", "ENTRYPOINT"])
        (copied, run, folder, entry) = (text for _, text in steps)
        self.assertEqual(copied, "--from=build /ergometer.deb /")
        shutil.copy(DEB, self.root / "ergometer.deb")
        started = time.monotonic()
        # What it would fetch is here.
        self.inside("sh", "-c", run.replace("apt-get update", "true"))
        self.expect_main_job("sh", "-c", 'mkdir -p "$0" && cd "$0" && exec "$@"', folder, *json.loads(entry),
                             what="the package to the image", since=started)


if __name__ == "__main__":
    DEB, WHEEL, BINARY = made("deb"), made("wheel"), made("binary")
    fields = subprocess.run(["dpkg-deb", "--field", DEB, "Depends"], check=True, capture_output=True, text=True).stdout
    ARCHIVE = root_archive(re.sub(r" *\(.*?\)|,", "", fields).strip())
    if ARCHIVE is None:
        sys.exit(SKIPPED)
    EXPECTED = subprocess.run([ROOT / "build/release/ergometer", *MAIN_JOB], check=True, capture_output=True, text=True,
                              env={"LC_ALL": "C.UTF-8"}).stdout
    unittest.main()
