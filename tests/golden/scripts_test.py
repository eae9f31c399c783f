#!/usr/bin/env python3
"""Holds what is read of the launch scripts to the jobs that were worked out by hand from them.

A case scripts/<case> with a job.txt says the job in lines `name: value`; its expected.txt holds the settings that
`simulate --settings` prints. "refused: ..." says that the script is to be refused.
"""
import json
import pathlib
import re
import unittest

SCRIPTS = pathlib.Path(__file__).parent / "scripts"
SETTINGS = {
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "cp": "context_parallel_size",
    "ep": "expert_model_parallel_size",
    "micro batch": "micro_batch_size",
    "sequence": "seq_length",
    "zero": "zero",
}
SIZES = {"layers": "num_layers", "hidden": "hidden_size", "heads": "num_attention_heads", "ffn": "ffn_hidden_size",
         "vocabulary": "vocab_size"}


def intended(case):
    return dict(re.match(r"([A-Za-z ]+): (.*)", line).groups()
                for line in (case / "job.txt").read_text().splitlines() if re.match(r"[A-Za-z ]+: ", line))


def settings(case):
    found = {}
    for line in (case / "expected.txt").read_text().split("--- stderr")[0].splitlines():
        match = re.match(r"(\w+) = (.*?)  \(", line)
        if match:
            found[match[1]] = match[2]
    return found


def said(read):
    """The job of settings, under job.txt's names; sizes of a model that is named are the catalog's."""
    job = {name: read.get(setting, "0" if name == "zero" else "1") for name, setting in SETTINGS.items()}
    job["GPUs"] = read.get("gpus", "not said")
    job["recomputation"] = read.get("recompute_granularity", "none")
    job["precision"] = next((word for word in ("fp8", "bf16", "fp16") if read.get(word) == "true"),
                            read.get("precision", "bf16"))
    if "global_batch_size" in read:
        job["global batch"] = read["global_batch_size"]
    if read.get("model", "").startswith("{"):
        model = json.loads(read["model"])
        job.update({name: str(model[key]) for name, key in SIZES.items() if key in model})
        heads = model.get("num_attention_heads")
        job["kv heads"] = str(model.get("num_query_groups", heads) if model.get("group_query_attention") else heads)
    return job


class Scripts(unittest.TestCase):
    def test_jobs(self):
        cases = sorted(path.parent for path in SCRIPTS.glob("*/job.txt"))
        self.assertGreater(len(cases), 30)
        compared = 0
        for case in cases:
            with self.subTest(case.name):
                wanted = intended(case)
                refused = (case / "expected.txt").read_text().endswith("--- exit 2\n")
                self.assertEqual("refused" in wanted, refused)
                if refused:
                    continue
                job = said(settings(case))
                for name, value in wanted.items():
                    if name in job:
                        self.assertEqual(value.split(",")[0], job[name], name)
                        compared += 1
        self.assertGreater(compared, 400)


if __name__ == "__main__":
    unittest.main()
