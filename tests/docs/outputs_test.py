#!/usr/bin/env python3
"""What outputs.py takes for a command, an output and lines left out."""
import unittest

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
""".split("\n")


class Parse(unittest.TestCase):
    def test_a_page_is_read_in_order(self):
        acts = outputs.parse(PAGE)
        self.assertEqual([act[0] for act in acts], ["before", "file", "example", "example", "example"])
        self.assertEqual(acts[0][1], "touch a\n     touch b")
        self.assertEqual(acts[1][1:], ("job.yaml", "model: m\n"))
        examples = [act[1] for act in acts[2:]]
        self.assertEqual([example.command for example in examples],
                         ["ergometer one \\\n--more", "ergometer two", "ergometer three"])
        self.assertEqual([PAGE[example.start:example.end] for example in examples],
                         [["first", "...", "last"], ["out"], []])


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
