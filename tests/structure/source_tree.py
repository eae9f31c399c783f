"""What the checks of src/ share: the command line, and a tree of planted files for their tests."""
import pathlib
import sys
import tempfile
import unittest


def check(faults_of, all_well):
    """Prints what `faults_of` finds in the tree that the command line names, by default src/; the exit status."""
    default = pathlib.Path(__file__).resolve().parents[2] / "src"
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not any(source.glob("*/*.h")):
        print(f"{source}: holds no headers", file=sys.stderr)
        return 2
    found = faults_of(source)
    print("\n".join(found) if found else all_well)
    return 1 if found else 0


class PlantedTree(unittest.TestCase):
    """`faults_of` is the check; a test sets up files that are as they should be, and plants faults."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.source = pathlib.Path(self.scratch.name) / "src"

    def write(self, name, text):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, *wanted):
        self.assertEqual(self.faults_of(self.source), list(wanted))
