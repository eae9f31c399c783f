#!/usr/bin/env python3
"""scripts/release.sh in a small repository, whose packages are stand-ins."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/release.sh", self.folder / "scripts")
        package = self.folder / "scripts/package.sh"
        # There is no engine that makes an image.
        package.write_text('#!/bin/sh\n[ "$1" != container ] || exit 3\n'
                           'mkdir -p build && echo "$1" > "build/$1" && echo "build/$1"\n')
        package.chmod(0o755)
        (self.folder / ".gitignore").write_text("/build/\n")
        (self.folder / "CMakeLists.txt").write_text("project(ergometer VERSION 1.2.0 LANGUAGES CXX)\n")
        self.changelog("## Unreleased\n\n- New\n\n## 1.1.0\n\n- Old\n")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=T", "-c", "user.email=t@localhost", *words], cwd=self.folder,
                              check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")

    def changelog(self, text):
        (self.folder / "CHANGELOG.md").write_text(text)

    def release(self):
        return subprocess.run(["./scripts/release.sh"], cwd=self.folder, capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@localhost"})

    def expect_refusal(self, message):
        done = self.release()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertFalse((self.folder / "build").exists())

    def test_a_release(self):
        self.changelog("## 1.2.0\n\n### Commands\n- New\n\n## 1.1.0\n\n- Old\n")
        self.commit()
        done = self.release()
        self.assertEqual(done.returncode, 0, done.stderr)
        made = self.folder / "build/releases/1.2.0"
        self.assertEqual(sorted(path.name for path in made.iterdir()),
                         ["SHA256SUMS", "binary", "deb", "ergometer-1.2.0.tar.gz", "wheel"])
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=made, check=True)
        told = self.git("tag", "--list", "--format=%(contents)", "v1.2.0")
        self.assertRegex(told, r"^Ergometer 1\.2\.0\n\s+### Commands\n- New")
        self.assertNotIn("Old", told)
        self.assertIn("v1.2.0 is released already", self.release().stderr)

    def test_what_is_not_ready(self):
        self.expect_refusal("CHANGELOG.md has no part '## 1.2.0'")
        self.changelog("changed\n")
        self.expect_refusal("changes that are not committed")


if __name__ == "__main__":
    unittest.main()
