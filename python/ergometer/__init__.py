"""Predicts time, power and heat of LLM training jobs.

    >>> import ergometer
    >>> job = ergometer.simulate("llama3-70b", cluster="charllm-h200", gpus=32, tp=4, pp=4)
    >>> job.performance.step_time_s
    1.8...

Every function is a command of the program, its keywords are the command's options (`ergometer simulate --help all`) with
underscores for dashes, its answer is the command's --json document. What the program refuses is raised as `Error`.
"""
import json
import os
from typing import Any, Union

from ._document import Document, Record, Report
from ._program import Error, ask, program, words_of
from ._run_file import RunFile

File = Union[str, "os.PathLike[str]"]

__all__ = ["Document", "Error", "Record", "Report", "RunFile", "analyze", "command", "compare", "open_run", "optimize",
           "plan", "program", "proxy", "search", "simulate", "sweep", "validate"]


def command(name: str, *files: File, **options: Any) -> Document:
    """Any command of the program."""
    words = words_of(name, files, options)
    out, notes, status = ask([*words, "--json"])
    return Document(json.loads(out), words, notes, status)


def simulate(*files: File, **options: Any) -> Document:
    """One job: step time, memory, links, power, heat. `files`: a model's name, or files that say the job."""
    return command("simulate", *files, **options)


def search(*files: File, **options: Any) -> Document:
    """The best of all layouts of a job."""
    return command("search", *files, **options)


def sweep(study: File, *files: File, **options: Any) -> Document:
    """Every job of a study: a name of the catalog, a study file, or a table of jobs."""
    return command("sweep", study, *files, **options)


def compare(*jobs: File, **options: Any) -> Document:
    """Why one job is faster than another; with_={"tp": 8} makes the second out of the first."""
    return command("compare", *jobs, **options)


def optimize(*files: File, **options: Any) -> Document:
    """The same job placed, divided, capped and clocked better."""
    return command("optimize", *files, **options)


def plan(*files: File, **options: Any) -> Document:
    """A whole training run: days, energy, cost, failures; tokens="15T" says how long it is."""
    return command("plan", *files, **options)


def proxy(*files: File, **options: Any) -> Document:
    """A small job that keeps what limits a large one; gpus=32 says on how many GPUs it shall run."""
    return command("proxy", *files, **options)


def analyze(*files: File, **options: Any) -> Document:
    """Where the time and power of recorded jobs go: traces, telemetry, Run files."""
    return command("analyze", *files, **options)


def validate(*tables: File, **options: Any) -> Document:
    """Predictions held to measured runs."""
    return command("validate", *tables, **options)


def open_run(path: File) -> RunFile:
    """A Run file: its telemetry and all its other tables."""
    return RunFile(path)
