"""What the program answers: its --json documents, with attributes."""
import difflib
import html
import pathlib
import tempfile
from collections.abc import Mapping
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union

from . import _program
from ._run_file import RunFile


class Record(Mapping):
    """An object of a document: record.mfu is record["mfu"]. The names are those of docs/json.md."""

    def __init__(self, members: Dict[str, Any]):
        self._members = members

    def __getitem__(self, name: str) -> Any:
        return _viewed(self._members[name])

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._members:
            return self[name]
        message = f"there is no '{name}' here"
        if near := difflib.get_close_matches(name, self._members, 1):
            message += f"; did you mean {near[0]}?"
        raise AttributeError(f"{message} (there are: {', '.join(self._members)})")

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._members]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._members)})"

    def to_dict(self) -> Dict[str, Any]:
        """Plain dicts and lists, as in the JSON."""
        return self._members


def _viewed(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    return [_viewed(one) for one in value] if isinstance(value, list) else value


def _flat(value: Mapping, prefix: str = "") -> Dict[str, Any]:
    """One row of an object: members of members as a.b, without lists."""
    row: Dict[str, Any] = {}
    for name, one in value.items():
        if isinstance(one, Mapping):
            row.update(_flat(one, f"{prefix}{name}."))
        elif not isinstance(one, list):
            row[prefix + name] = one
    return row


# Where the main table of a command's document is, and what a notebook shows of it.
_TABLES = {"search": "best", "sweep": "rows", "compare": "causes", "validate": "rows"}
_SHOWN = {
    "search": ["rank", "step_time_s", "mfu", "memory_bytes", "mean_w_per_gpu", "tokens_per_j",
               *(f"job.parallelism.{name}" for name in ("tp", "cp", "pp", "dp", "ep", "zero")),
               "job.training.micro_batch_size", "job.training.recompute"],
    "sweep": ["family", "id", "status", "run.performance.step_time_s", "run.performance.mfu", "run.memory.peak_bytes",
              "run.power.mean_w_per_gpu", "run.thermal.max_gpu_c"]}


def _html_table(rows: List[Dict[str, Any]], names: List[str]) -> str:
    def line(tag: str, values: Iterable[Any]) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(str(value))}</{tag}>' for value in values)}</tr>"
    cells = [[f"{value:.4g}" if isinstance(value, float) else value for value in map(row.get, names)] for row in rows]
    return f"<table>{line('th', names)}{''.join(line('td', row) for row in cells)}</table>"


class Document(Record):
    """A command's answer. `answer_is_no` where it is one: a job that does not fit in memory, say."""

    def __init__(self, members: Dict[str, Any], words: Sequence[str], notes: str, status: int):
        super().__init__(members)
        self._words = list(words)
        self.notes = notes.splitlines()
        self.answer_is_no = status == 1

    def table(self, path: Optional[str] = None) -> List[Dict[str, Any]]:
        """The rows of the list at `path` ("breakdown.stages"), each flat; by default the command's main table, or the
        document itself as the only row."""
        path = path or _TABLES.get(self._words[0])
        rows: Any = self._members
        for name in path.split(".") if path else []:
            if not isinstance(rows, Mapping) or name not in rows:
                raise KeyError(f"there is no '{path}' in the document")
            rows = rows[name]
        return [_flat(row) if isinstance(row, Mapping) else {"value": row}
                for row in (rows if isinstance(rows, list) else [rows])]

    def to_pandas(self, path: Optional[str] = None) -> Any:
        """`table` as a pandas DataFrame."""
        import pandas
        return pandas.DataFrame(self.table(path))

    def summary(self) -> str:
        """What the command prints for people. The program is asked again."""
        return _program.ask(self._words, {"LC_ALL": "C.UTF-8"})[0]

    def run(self, file: Union[None, str, pathlib.Path] = None) -> RunFile:
        """The whole Run with its telemetry, of `simulate` or `sweep`; kept in `file` if it is named. The program is asked
        again."""
        option = {"simulate": "run", "sweep": "out"}.get(self._words[0])
        if option is None:
            raise _program.Error(f"{self._words[0]} writes no Run", 2)
        folder = None if file else tempfile.TemporaryDirectory(prefix="ergometer-")
        path = pathlib.Path(folder.name) / "job.run" if folder else pathlib.Path(str(file))
        _program.ask([*self._words, f"--{option}={path}"])
        return RunFile(path, folder)

    def report(self, file: Union[None, str, pathlib.Path] = None) -> "Report":
        """The report page, of `simulate`, `sweep` or `analyze`; kept in `file` if it is named."""
        with tempfile.TemporaryDirectory(prefix="ergometer-") as folder:
            page = pathlib.Path(file or pathlib.Path(folder) / "page.html")
            if self._words[0] == "sweep":
                with self.run() as run:
                    _program.ask(["report", str(run.path), f"--out={page}", "--json"])
            else:
                _program.ask([*self._words, f"--report={page}"])
            return Report(page.read_text(encoding="utf-8"))

    def _repr_html_(self) -> str:
        # Long searches and studies are not asked for again.
        if names := _SHOWN.get(self._words[0]):
            return _html_table(self.table() if _TABLES[self._words[0]] in self else [], names)
        return f"<pre>{html.escape(self.summary())}</pre>"


class Report:
    """A report page, which a notebook shows in a frame."""

    def __init__(self, page: str):
        self.html = page

    def __repr__(self) -> str:
        return f"Report({len(self.html)} characters)"

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
                'style="width: 100%; height: 800px; border: 0"></iframe>')
