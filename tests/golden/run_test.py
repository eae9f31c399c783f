#!/usr/bin/env python3
"""Holds run.py to its promises with a shell script in the program's place."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import run

PROGRAM = """#!/bin/sh
case "$1" in
  hello) echo "hello from $PWD"; echo "note" >&2; exit 3 ;;
  read) cat input.txt ;;
  bare) printf 'no line end' ;;
  write) echo spoiled > input.txt; cat input.txt ;;
  root) echo "$ROOT/examples" ;;
esac
"""


class Golden(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name).resolve()
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.golden = self.folder / "golden"

    def case(self, name, **files):
        folder = self.golden / name
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file.replace("_txt", ".txt")).write_text(text)
        return folder

    def run_golden(self, *arguments):
        self.printed = io.StringIO()
        with contextlib.redirect_stdout(self.printed), contextlib.redirect_stderr(self.printed):
            return run.main(["--ergometer", str(self.program), *arguments], self.golden, self.folder)

    def test_output_errors_and_status_are_one_text_without_this_machines_paths(self):
        self.case("cli/hello", cmd="ergometer hello\n",
                  expected_txt="hello from <CASE>\n--- stderr\nnote\n--- exit 3\n")
        self.assertEqual(self.run_golden(), 0, self.printed.getvalue())

    def test_a_difference_fails_and_is_shown(self):
        self.case("cli/hello", cmd="ergometer hello", expected_txt="hello\n--- stderr\nnote\n--- exit 0\n")
        self.assertEqual(self.run_golden(), 1)
        self.assertIn("\n-hello\n+hello from <CASE>\n", self.printed.getvalue())
        self.assertIn("\n---- exit 0\n+--- exit 3\n", self.printed.getvalue())

    def test_a_case_without_expectation_fails(self):
        self.case("cli/new", cmd="ergometer bare")
        self.assertEqual(self.run_golden(), 1)

    def test_a_sample_takes_every_nth_case(self):
        for number in range(5):
            right = "<ROOT>/examples\n--- stderr\n--- exit 0\n"
            self.case(f"cli/{number}", cmd="ergometer root", expected_txt="wrong" if number % 2 else right)
        self.assertEqual(self.run_golden("--every", "2"), 0, self.printed.getvalue())
        self.assertIn("3 of 3 golden cases hold", self.printed.getvalue())

    def test_update_writes_the_expectation(self):
        folder = self.case("cli/bare", cmd="ergometer bare")
        self.assertEqual(self.run_golden("--update"), 0)
        self.assertEqual((folder / "expected.txt").read_text(),
                         "no line end\n<no line end>\n--- stderr\n--- exit 0\n")
        self.assertEqual(self.run_golden(), 0)

    def test_the_case_is_run_in_a_copy(self):
        folder = self.case("files/write", cmd="ergometer read; ergometer write", input_txt="kept\n",
                           expected_txt="kept\nspoiled\n--- stderr\n--- exit 0\n")
        self.assertEqual(self.run_golden(), 0, self.printed.getvalue())
        self.assertEqual((folder / "input.txt").read_text(), "kept\n")

    def test_the_repository_is_named_root(self):
        self.case("cli/root", cmd="ergometer root", expected_txt="<ROOT>/examples\n--- stderr\n--- exit 0\n")
        self.assertEqual(self.run_golden(), 0, self.printed.getvalue())

    def test_the_repositorys_name_is_as_long_wherever_it_lies(self):
        folder = self.case("cli/root", cmd='echo "${#ROOT}"')
        longer = self.folder / ("longer" * 10)
        longer.mkdir()
        lengths = [run.run_case(folder, self.program, root) for root in (self.folder, longer)]
        self.assertEqual(lengths[0], lengths[1])

    def test_words_choose_areas_and_cases(self):
        self.case("a/one", cmd="true", expected_txt="--- stderr\n--- exit 0\n")
        self.case("a/two", cmd="true", expected_txt="--- stderr\n--- exit 0\n")
        self.case("b/three", cmd="true", expected_txt="wrong")
        self.assertEqual(self.run_golden("a"), 0)
        self.assertIn("2 of 2", self.printed.getvalue())
        self.assertEqual(self.run_golden("a/two", "b/three"), 1)
        self.assertIn("1 of 2", self.printed.getvalue())
        self.assertEqual(self.run_golden("c"), 2)

    def test_a_missing_program_is_said(self):
        self.program.unlink()
        self.assertEqual(self.run_golden(), 2)


if __name__ == "__main__":
    unittest.main()
