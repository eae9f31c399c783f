#!/usr/bin/env python3
"""The command that `ergometer record` runs: its output, input, exit status, signals and terminal are its own.

    tests/record/command_test.py ERGOMETER
"""
import os
import pathlib
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ERGOMETER = None

# Says when it is ready, counts interrupts for a while after the first, and tells.
COUNTER = """
import signal, sys, time
count = 0
def interrupted(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, interrupted)
print("ready", sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(), flush=True)
for _ in range(200):
    time.sleep(0.05)
    if count:
        time.sleep(0.5)
        break
print("interrupts", count, flush=True)
sys.exit(5)
"""


class RecordTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ergometer-command-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_file = self.folder / "a.run"

    def words(self, *command, options=()):
        return [ERGOMETER, "record", "--out", str(self.run_file), *options, "--", *command]

    def start(self, *command, options=(), **more):
        return subprocess.Popen(self.words(*command, options=options), cwd=self.folder, **more)

    def record(self, *command, options=(), **more):
        return subprocess.run(self.words(*command, options=options), capture_output=True, cwd=self.folder, check=False,
                              timeout=60, **more)

    def sql(self, query):
        database = sqlite3.connect(self.run_file)
        try:
            return database.execute(query).fetchone()[0]
        finally:
            database.close()


class Status(RecordTest):
    def test_exit_codes(self):
        for code in (0, 1, 2, 3, 70, 77, 126, 127, 130, 255):
            self.assertEqual(self.record("sh", "-c", f"exit {code}").returncode, code)

    def test_signals_end_both_alike(self):
        for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL, signal.SIGINT, signal.SIGABRT):
            self.assertEqual(self.record("sh", "-c", f"kill -{number.value} $$").returncode, -number)
        shell = subprocess.run(["sh", "-c", " ".join(self.words("sh", "-c", "'kill -TERM $$'")) + " 2>/dev/null; echo $?"],
                               capture_output=True, text=True, check=False)
        self.assertEqual(shell.stdout, "143\n")

    def test_what_cannot_be_started(self):
        missing = self.record("no-such-program")
        self.assertEqual(missing.returncode, 127)
        self.assertIn(b"no-such-program: there is no such command", missing.stderr)
        self.assertEqual(self.record("/etc/passwd").returncode, 126)
        self.assertFalse(self.run_file.exists())

    def test_without_a_source_that_was_asked_for_the_command_is_not_started(self):
        marker = self.folder / "ran"
        done = self.record("touch", str(marker), options=["--source", "replay"])
        self.assertIn(done.returncode, (2, 3))
        self.assertFalse(marker.exists())


class Streams(RecordTest):
    def test_every_byte_passes(self):
        data = os.urandom(1 << 20)
        done = self.record("cat", input=data)
        self.assertEqual(done.stdout, data)
        done = self.record("sh", "-c", "printf 'a\\0b'; printf 'only this' >&2", options=["--quiet"])
        self.assertEqual((done.stdout, done.stderr), (b"a\0b", b"only this"))

    def test_other_descriptors_pass(self):
        read, write = os.pipe()
        self.record("sh", "-c", f"echo here >&{write}", pass_fds=[write])
        os.close(write)
        self.assertEqual(os.read(read, 100), b"here\n")
        os.close(read)

    def test_the_environment_and_the_facts(self):
        done = self.record("sh", "-c", "echo $RANK", env={**os.environ, "RANK": "3", "SLURM_JOB_ID": "812"},
                           options=["--tag", "run=baseline"])
        self.assertEqual(done.stdout, b"3\n")
        self.assertEqual(self.sql("SELECT value FROM run WHERE key = 'rank'"), "3")
        self.assertEqual(self.sql("SELECT value FROM run WHERE key = 'slurm_job_id'"), "812")
        self.assertEqual(self.sql("SELECT value FROM run WHERE key = 'tag.run'"), "baseline")


    def test_passwords_in_addresses_are_not_kept(self):
        self.record("sh", "-c", "true http://me:word@host/", options=["--tag", "proxy=http://me:word@host/"])
        self.assertEqual(self.sql("SELECT value FROM run WHERE key = 'command'"), "sh -c true http://me:***@host/")
        self.assertEqual(self.sql("SELECT value FROM run WHERE key = 'tag.proxy'"), "http://me:***@host/")


class Signals(RecordTest):
    def test_signals_are_passed_on_and_the_recording_goes_on(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
            script = f"trap 'sleep 0.3; exit 9' {number.value}; echo ready; while :; do sleep 0.05; done"
            process = self.start("sh", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            sent_ns = time.time_ns()
            process.send_signal(number)
            process.stdout.read()
            process.stdout.close()
            self.assertEqual(process.wait(30), 9, number)
            self.assertGreater(self.sql("SELECT max(time_ns) FROM readings"), sent_ns + 200_000_000)

    def test_a_recording_without_a_command_ends_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            process = subprocess.Popen([ERGOMETER, "record", "--out", str(self.run_file)], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
            time.sleep(0.5)
            process.send_signal(number)
            self.assertIn(b"Recorded", process.communicate(timeout=30)[0])
            self.assertEqual(process.returncode, 0)
            self.assertEqual(list(self.folder.iterdir()), [self.run_file])

    def test_nohup_keeps_its_meaning(self):
        process = self.start("sh", "-c", "echo ready; sleep 1; exit 4", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(30), 4)
        process.stdout.close()


class Ends(RecordTest):
    def test_the_command_goes_on_when_the_time_is_over(self):
        done = self.record("sh", "-c", "sleep 1.5; echo done; exit 6", options=["--duration", "0.3s"])
        self.assertEqual((done.stdout, done.returncode), (b"done\n", 6))
        self.assertLess(self.sql("SELECT max(time_ns) - min(time_ns) FROM readings"), 1_400_000_000)

    def test_attach_ends_with_the_process(self):
        process = subprocess.Popen(["sleep", "1"])
        start = time.monotonic()
        done = subprocess.Popen([ERGOMETER, "record", "--out", str(self.run_file), "--attach", str(process.pid)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.wait()
        self.assertEqual(done.wait(30), 0)
        self.assertGreater(time.monotonic() - start, 0.9)

    def test_two_that_start_at_once_have_two_files(self):
        both = [subprocess.Popen([ERGOMETER, "record", "--quiet", "--", "sleep", "0.2"], cwd=self.folder)
                for _ in range(2)]
        self.assertEqual([process.wait(30) for process in both], [0, 0])
        self.assertEqual(len(list(self.folder.glob("ergometer-*.run"))), 2)

    def test_a_full_disk_is_said_and_what_was_written_stays(self):
        words = [ERGOMETER, "record", "--out", str(self.run_file), "--hz", "1000", "--duration", "2s"]
        done = subprocess.run(["sh", "-c", 'ulimit -f 300; exec "$@"', "sh", *words], capture_output=True, text=True,
                              check=False)
        self.assertIn("cannot be written", done.stderr)
        self.assertIn("Not all of it is in the file", done.stdout)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.sql("PRAGMA integrity_check"), "ok")
        self.assertEqual(subprocess.run([ERGOMETER, "analyze", str(self.run_file)], capture_output=True,
                                        check=False).returncode, 0)


class Terminal(RecordTest):
    """With a terminal of its own, as in an interactive shell."""

    def start_on_terminal(self, *command):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            words = self.words(*command, options=["--quiet"])
            os.execvp(words[0], words)
        self.addCleanup(os.close, terminal)
        return pid, terminal

    def read_until(self, terminal, wanted):
        text = b""
        deadline = time.monotonic() + 30
        while wanted not in text and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    text += os.read(terminal, 4096)
                except OSError:  # the other side is closed
                    break
        self.assertIn(wanted, text)
        return text

    def test_an_interrupt_reaches_the_command_once(self):
        pid, terminal = self.start_on_terminal(sys.executable, "-c", COUNTER)
        self.read_until(terminal, b"ready True True True")
        os.write(terminal, b"\x03")
        self.read_until(terminal, b"interrupts 1")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5)

    def test_both_stop_and_continue(self):
        # A session's only process group is orphaned, where the terminal stops nobody: a shell in between.
        script = "set -m; " + " ".join(self.words("sh", "-c", "'echo ready; sleep 2; echo later; exit 8'",
                                                  options=["--quiet"])) + "; echo status $?; fg; echo status $?"
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvp("bash", ["bash", "-c", script])
        self.addCleanup(os.close, terminal)
        self.read_until(terminal, b"ready")
        time.sleep(0.5)  # a shell that is stopped while it starts `sleep` hangs (vfork)
        os.write(terminal, b"\x1a")
        # Stopped: the shell goes on, and brings it back.
        text = self.read_until(terminal, b"status 8")
        self.assertIn(b"status 14", text)  # 128 + SIGTSTP or SIGSTOP
        self.assertIn(b"later", text)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    # A shell's background job, and what it starts, has interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ERGOMETER = os.path.abspath(sys.argv.pop(1))
    unittest.main()
