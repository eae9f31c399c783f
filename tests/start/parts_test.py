#!/usr/bin/env python3
"""What few commands need stands in parts that the program loads when needed.

    tests/start/parts_test.py ERGOMETER

Held: what the program loads at its start; that a part is found beside the program and beside its folder, and works; that
its absence is said.
"""

import http.server
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ERGOMETER = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
SLOW_LIBRARIES = ["libcpp-httplib", "libssl", "libcrypto", "libmpi"]  # milliseconds each


class Controller(http.server.BaseHTTPRequestHandler):
    asked = []

    def do_GET(self):
        Controller.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_):
        pass


def record(program, url):
    command = [program, "record", "--source", "redfish", "--redfish", url, "--duration", "1s"]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60).stderr


class Parts(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name).resolve()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Controller)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Controller.asked.clear()

    def copy(self, program):
        (self.folder / program).parent.mkdir(exist_ok=True)
        shutil.copy(ERGOMETER, self.folder / program)
        return self.folder / program

    def test_the_start_loads_no_slow_library(self):
        loaded = subprocess.run(["ldd", ERGOMETER], check=True, capture_output=True, text=True).stdout
        self.assertEqual([name for name in SLOW_LIBRARIES if name in loaded], [])

    def test_a_part_is_found_beside_the_program_and_beside_its_folder(self):
        shutil.copytree(ERGOMETER.parent / "lib" / "ergometer", self.folder / "lib" / "ergometer")
        for program in ("ergometer", "bin/ergometer"):
            Controller.asked.clear()
            said = record(self.copy(program), self.url)
            self.assertIn("HTTP status 404", said)
            self.assertIn("/redfish/v1/", Controller.asked)

    def test_a_missing_part_is_said(self):
        said = record(self.copy("ergometer"), self.url)
        self.assertIn("lib/ergometer/redfish.so is missing beside", said)
        self.assertEqual(Controller.asked, [])

    def test_a_broken_part_is_said(self):
        (self.folder / "lib" / "ergometer").mkdir(parents=True)
        (self.folder / "lib" / "ergometer" / "redfish.so").write_text("no library")
        self.assertIn("part 'redfish' cannot be loaded", record(self.copy("ergometer"), self.url))


if __name__ == "__main__":
    unittest.main()
