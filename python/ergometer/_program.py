"""Finds the program `ergometer` and asks it."""
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, List, Mapping, Optional, Tuple


class Error(Exception):
    """The program gave no answer. The text is its own message; `status` its exit status: 2 wrong input, 3 this machine
    lacks something, 70 a bug of the program's."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


def program() -> str:
    """The path of the program: $ERGOMETER, the one that this package brought, or the one on the PATH."""
    if given := os.environ.get("ERGOMETER"):
        return given
    schemes = [None, sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else f"{os.name}_user"]
    for scheme in schemes:
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        brought = pathlib.Path(folder) / "ergometer"
        if brought.is_file():
            return str(brought)
    if found := shutil.which("ergometer"):
        return found
    raise Error("the program ergometer is not installed beside this module, not on the PATH and not in $ERGOMETER", 3)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ",".join(f"{name}={_text(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple, set, range)):
        return ",".join(_text(one) for one in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def words_of(command: str, files: Tuple[Any, ...], options: Mapping[str, Any]) -> List[str]:
    """The command line: keywords are the command's long or short options, with underscores for dashes.

    True switches on, False off (--no-NAME), None leaves out; a list is joined by commas, a mapping as NAME=VALUE. A keyword
    that is a word of Python's has an underscore behind it: with_={"tp": 8}."""
    words = [command]
    for name, value in options.items():
        name = name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(f"--{name}")
        elif value is False:
            words.append(f"--no-{name}")
        elif value is not None:
            words.append(f"--{name}={_text(value)}")
    return [*words, *map(_text, files)]


def ask(words: List[str], environment: Optional[Mapping[str, str]] = None) -> Tuple[str, str, int]:
    """What the program answers to these words, what it notes beside, and its exit status: 0, or 1 where the answer is no."""
    try:
        done = subprocess.run([program(), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              encoding="utf-8", errors="replace", env={**os.environ, **(environment or {})})
    except OSError as error:
        raise Error(f"{error.filename}: {error.strerror}", 3) from None
    if done.returncode in (0, 1) and done.stdout:
        return done.stdout, done.stderr, done.returncode
    # Notes stand before the message, each behind the program's name.
    message = ("\n" + done.stderr).rpartition("\nergometer: ")[2].strip()
    raise Error(message or f"the program ended with {done.returncode} and said nothing", done.returncode)
