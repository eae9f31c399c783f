#!/usr/bin/env python3
"""What outputs.py takes for a command, an output and lines left out."""
import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import outputs

PAGE = """\
<!-- before: touch a
     touch b -->
<!-- file: job.yaml -->
```yaml
model: m
```

    ergometer one \\
      --more

```
first
...
last
```

    ergometer shown --only

Text.

```
$ ergometer two
out
$ ergometer three
```

<!-- not run: it never ends -->
```
$ ergometer four
```

<!-- serves -->
```
$ ergometer serve --out d
$ ergometer five
```
""".split("\n")


class Parse(unittest.TestCase):
    def test_a_page_is_read_in_order(self):
        acts = outputs.parse(PAGE)
        self.assertEqual([act[0] for act in acts], ["before", "file", "example", "example", "example", "serves", "example"])
        self.assertEqual(acts[5], ("serves", "ergometer serve --out d"))
        self.assertEqual(acts[0][1], "touch a\n     touch b")
        self.assertEqual(acts[1][1:], ("job.yaml", "model: m\n"))
        examples = [act[1] for act in acts if act[0] == "example"]
        self.assertEqual([example.command for example in examples],
                         ["ergometer one \\\n--more", "ergometer two", "ergometer three", "ergometer five"])
        self.assertEqual([PAGE[example.start:example.end] for example in examples],
                         [["first", "...", "last"], ["out"], [], []])


class Page(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(outputs, "ROOT", pathlib.Path(folder)):
            program = pathlib.Path(folder) / "ergometer"
            program.write_text("#!/bin/sh\n[ $2 = bad ] && exit 2\ntouch served\necho serving http://x/ >&2\nexec sleep 60\n")
            program.chmod(0o755)
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text)
            with contextlib.redirect_stdout(io.StringIO()):
                return outputs.check_page(page, program, False)

    def test_a_server_runs_beside_what_follows(self):
        self.assertEqual(self.check("<!-- serves -->\n```\n$ ergometer serve a\n$ test -e served\n```\n"), 0)

    def test_what_fails_is_a_fault(self):
        self.assertEqual(self.check("```\n$ true\n$ false\n```\n"), 1)
        self.assertEqual(self.check("<!-- serves -->\n```\n$ ergometer serve bad\n```\n"), 1)


    def test_runs_at_once_serve_at_ports_of_their_own(self):
        acts = outputs.parse("<!-- serves -->\n```\n$ ergometer serve --out d\n$ push http://localhost:9500 :9501\n```".split("\n"))
        one, other = outputs.Ports(acts), outputs.Ports(acts)
        self.assertEqual(len({*one.free.values(), *other.free.values()} & {"9500", "9501"}), 0)
        self.assertEqual(one.serving("ergometer serve"), f"ergometer serve --listen 127.0.0.1:{one.free['9500']}")
        self.assertEqual(one.serving("ergometer serve --listen :9501"), f"ergometer serve --listen :{one.free['9501']}")
        self.assertEqual(one.on_page(one.in_run("http://localhost:9500/ and :9501, 10:9599")), "http://localhost:9500/ and :9501, 10:9599")
        self.assertEqual(outputs.Ports([("example", outputs.Example("push :9500", 0, 0))]).free, {})


class AsShown(unittest.TestCase):
    def test_without_gaps_the_whole_output_is_wanted(self):
        self.assertEqual(outputs.as_shown(["a"], ["a", "b"]), ["a", "b"])

    def test_gaps_stay_where_they_are(self):
        printed = ["head", "a 1", "b 2", "c", "d 4", "tail"]
        self.assertEqual(outputs.as_shown(["...", "a 0", "b 2", "...", "d 0", "..."], printed),
                         ["...", "a 1", "b 2", "...", "d 4", "..."])

    def test_an_end_without_a_gap_is_the_outputs_end(self):
        self.assertEqual(outputs.as_shown(["head", "...", "x"], ["head", "x", "y"]), ["head", "...", "y"])


if __name__ == "__main__":
    unittest.main()
