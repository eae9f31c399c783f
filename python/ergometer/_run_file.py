"""Run files: SQLite, whose tables docs/run-file.md tells."""
import pathlib
import sqlite3
import tempfile
from typing import Any, Dict, List, Optional, Union


class RunFile:
    """The tables and views of a Run file, read only: what `simulate --run`, `sweep --out`, `record` and `import` write."""

    def __init__(self, path: Union[str, pathlib.Path], folder: Optional[tempfile.TemporaryDirectory] = None):
        self.path = pathlib.Path(path)
        self._folder = folder  # deleted with the last use of the file
        if not self.path.is_file():
            raise FileNotFoundError(f"{self.path}: no such file")
        self._database = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
        self._database.execute("PRAGMA trusted_schema = OFF")

    @property
    def tables(self) -> List[str]:
        """Names of all tables and views."""
        found = self._database.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
        return [name for name, in found]

    def table(self, name: str = "telemetry") -> List[Dict[str, Any]]:
        """A table's rows."""
        if name not in self.tables:
            raise KeyError(f"{self.path} has no table '{name}', only {', '.join(self.tables)}")
        found = self._database.execute(f'SELECT * FROM "{name}"')
        names = [column[0] for column in found.description]
        return [dict(zip(names, row)) for row in found]

    def to_pandas(self, name: str = "telemetry") -> Any:
        """A table as a pandas DataFrame."""
        import pandas
        return pandas.DataFrame(self.table(name))

    def close(self) -> None:
        self._database.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> "RunFile":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RunFile({str(self.path)!r})"
