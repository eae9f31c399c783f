#!/usr/bin/env python3
"""One finds one's way in: fails when a folder under src/ is too full, a source lies in another room than its header, or
rooms of a folder include each other in a circle.

    tests/structure/rooms.py [SOURCE_FOLDER]

A room is a folder within a folder of src/; a thing is a header, its source and its test. Prints one line a fault and ends
with status 1 when there is one.
"""
import collections
import pathlib
import re
import sys

import source_tree

MOST_THINGS = 25
# Their own files name what lies in their rooms (a table of formats, of studies), and rooms ask the folder back.
HUBS = {"import", "study"}
OURS = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def thing_of(path):
    return path.stem.removesuffix("_test")


def is_for_tests(path):
    return path.stem.endswith("_test") or path.stem.startswith(("test_", "example_", "fake_", "random_"))


def too_full(source, files):
    things = collections.defaultdict(set)
    for path in files:
        things[path.parent].add(thing_of(path))
    for room, names in sorted(things.items()):
        if len(names) > MOST_THINGS:
            yield (f"src/{room.relative_to(source)}: {len(names)} things lie in one folder, at most {MOST_THINGS} may: "
                   "divide it by subject")


def apart(source, files):
    """Sources and tests whose header lies in another room of their folder. Those of a whole subject have none."""
    headers = collections.defaultdict(list)
    for path in files:
        if path.suffix == ".h":
            headers[(path.relative_to(source).parts[0], path.stem)].append(path)
    for path in files:
        its_headers = headers[(path.relative_to(source).parts[0], thing_of(path))]
        if its_headers and path.parent not in [header.parent for header in its_headers]:
            yield f"src/{path.relative_to(source)}: its header is src/{its_headers[0].relative_to(source)}"


def arrows_of(source, folder, files):
    """Which room of a folder includes which; of each arrow one file that draws it. The folder itself is a room too."""
    arrows = collections.defaultdict(dict)
    for path in files:
        if is_for_tests(path):
            continue
        here = path.parent.relative_to(source).as_posix()
        for name in OURS.findall(path.read_text()):
            there = pathlib.PurePosixPath(name).parent.as_posix()
            if folder in HUBS and (here.startswith(there) or there.startswith(here)):
                continue
            if there != here and there.split("/")[0] == folder:
                arrows[here].setdefault(there, path.relative_to(source))
    return arrows


def circle_from(arrows, start):
    """The shortest way from a room back to it, or None."""
    ways = collections.deque([[start]])
    seen = set()
    while ways:
        way = ways.popleft()
        for room in sorted(arrows.get(way[-1], ())):
            if room == start:
                return way
            if room not in seen:
                seen.add(room)
                ways.append([*way, room])
    return None


def circles(source, files):
    folders = collections.defaultdict(list)
    for path in files:
        folders[path.relative_to(source).parts[0]].append(path)
    for folder, its_files in sorted(folders.items()):
        arrows = arrows_of(source, folder, its_files)
        ways = (circle_from(arrows, room) for room in sorted(arrows, reverse=True))
        # A circle is found from each of its rooms: it is told once, from the first.
        for way in {frozenset(way): way for way in ways if way}.values():
            steps = [f"src/{here} by {arrows[here][there]}" for here, there in zip(way, way[1:] + way[:1])]
            yield f"rooms include each other in a circle: {', '.join(steps)}"


def faults(source):
    files = sorted(path for path in source.glob("*/**/*") if path.suffix in (".h", ".cpp"))
    return [*too_full(source, files), *apart(source, files), *circles(source, files)]


if __name__ == "__main__":
    sys.exit(source_tree.check(faults, "every room is one to find one's way in"))
