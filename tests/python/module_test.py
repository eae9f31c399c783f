#!/usr/bin/env python3
"""The Python module over a program: tests/python/module_test.py PROGRAM. What needs pandas is skipped without it."""
import doctest
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.dont_write_bytecode = True
import ergometer  # noqa: E402
from ergometer import _program  # noqa: E402

JOB = {"model": "llama3-70b", "cluster": "charllm-h200", "gpus": 32, "tp": 4, "pp": 4}


class Words(unittest.TestCase):
    def test_keywords_are_options(self):
        self.assertEqual(_program.words_of("simulate", ("a.yaml",), {
            "micro_batch_size": 2, "sequence_parallel": False, "fsdp": True, "zero": None, "with_": {"tp": 8, "pp": 2},
            "gpus": [8, 16], "run": pathlib.Path("x.run")}), [
                "simulate", "--micro-batch-size=2", "--no-sequence-parallel", "--fsdp", "--with=tp=8,pp=2", "--gpus=8,16",
                "--run=x.run", "a.yaml"])


class Simulate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.job = ergometer.simulate(**JOB)

    def test_members_are_attributes(self):
        self.assertEqual(self.job.job.parallelism.tp, 4)
        self.assertEqual(self.job["performance"]["mfu"], self.job.performance.mfu)
        self.assertEqual([stage.stage for stage in self.job.memory.stages], [0, 1, 2, 3])
        self.assertIn("mfu", dir(self.job.performance))
        self.assertIsInstance(self.job.to_dict()["power"], dict)
        self.assertFalse(self.job.answer_is_no)

    def test_a_wrong_name_is_told(self):
        with self.assertRaisesRegex(AttributeError, "no 'mfuu' here; did you mean mfu?"):
            self.job.performance.mfuu
        with self.assertRaisesRegex(KeyError, "no 'memory.stage'"):
            self.job.table("memory.stage")

    def test_tables(self):
        self.assertEqual(self.job.table()[0]["performance.mfu"], self.job.performance.mfu)
        self.assertEqual(len(self.job.table("memory.stages")), 4)

    def test_summary_and_notebook(self):
        self.assertIn("Step time", self.job.summary())
        self.assertTrue(self.job._repr_html_().startswith("<pre>"))
        with self.job.run() as run:
            self.assertTrue(run.path.is_file())
        self.assertFalse(run.path.exists())
        report = self.job.report()
        self.assertIn("<html", report.html)
        self.assertIn("srcdoc=", report._repr_html_())

    def test_telemetry(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.job.run(pathlib.Path(folder) / "job.run") as run:
                self.assertEqual({row["rank"] for row in run.table()}, set(range(32)))
                with self.assertRaisesRegex(KeyError, "has no table 'nothing', only"):
                    run.table("nothing")
            with ergometer.open_run(pathlib.Path(folder) / "job.run") as run:
                self.assertIn("kernels", run.tables)
        with self.assertRaises(FileNotFoundError):
            ergometer.open_run("nothing.run")

    def test_what_does_not_fit_is_an_answer(self):
        job = ergometer.simulate("llama3-70b", cluster="hgx-h100", gpus=8)
        self.assertTrue(job.answer_is_no)
        self.assertFalse(job.memory.fits)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_pandas(self):
        self.assertEqual(self.job.to_pandas("memory.stages")["stage"].tolist(), [0, 1, 2, 3])
        with self.job.run() as run:
            self.assertEqual(run.to_pandas()["rank"].max(), 31)


class Errors(unittest.TestCase):
    def expect(self, status, message, *files, **options):
        with self.assertRaises(ergometer.Error) as raised:
            ergometer.simulate(*files, **options)
        self.assertRegex(str(raised.exception), message)
        self.assertEqual(raised.exception.status, status)

    def test_the_programs_own_message(self):
        self.expect(2, "^simulate: unknown option --clutser; did you mean --cluster", "llama3-70b", clutser="hgx-h100")
        self.expect(2, "^nope: neither a cluster", "llama3-70b", cluster="nope")
        self.expect(2, "^simulate: MODEL is missing")

    def test_a_program_that_cannot_be_started(self):
        kept = os.environ["ERGOMETER"]
        self.addCleanup(os.environ.__setitem__, "ERGOMETER", kept)
        os.environ["ERGOMETER"] = "/no/such/program"
        self.expect(3, "/no/such/program: No such file", "llama3-70b")


class Others(unittest.TestCase):
    def test_search(self):
        found = ergometer.search("llama3-8b", cluster="hgx-h100", gpus=8, gbs=16, top=2, fix={"tp": 2})
        self.assertEqual([row["job.parallelism.tp"] for row in found.table()], [2, 2])
        self.assertIn("<td>2</td>", found._repr_html_())
        with self.assertRaisesRegex(ergometer.Error, "search writes no Run"):
            found.run()

    def test_a_search_without_an_answer(self):
        found = ergometer.search("llama3-70b", cluster="hgx-h100", gpus=1, gbs=16)
        self.assertTrue(found.answer_is_no)
        self.assertIn("<table>", found._repr_html_())

    def test_sweep(self):
        with tempfile.TemporaryDirectory() as folder:
            study = pathlib.Path(folder) / "study.yaml"
            study.write_text("base: {model: llama3-8b, cluster: hgx-h100, gpus: 8, gbs: 16}\naxes: {tp: [2, 4]}\n")
            points = ergometer.sweep(study)
            self.assertEqual([row["axes.tp"] for row in points.table()], ["2", "4"])
            self.assertIn("tp=4", points._repr_html_())
            self.assertIn("<html", points.report().html)

    def test_compare_and_analyze(self):
        why = ergometer.compare(ROOT / "examples/llama3-70b-h200.yaml", with_={"tp": 8, "pp": 2})
        self.assertIn("tensor_parallelism", [row["id"] for row in why.table()])
        traces = sorted((ROOT / "tests/data/kineto").glob("*_qwen.json.gz"))
        self.assertEqual(len(ergometer.analyze(*traces).trace.ranks), len(traces))


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(ergometer, optionflags=doctest.ELLIPSIS))
    return tests


if __name__ == "__main__":
    os.environ["ERGOMETER"] = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
