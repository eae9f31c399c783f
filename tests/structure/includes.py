#!/usr/bin/env python3
"""Data moves left to right: fails when a folder under src/ includes, or links, one that is not to its left.

    tests/structure/includes.py [SOURCE_FOLDER]

Prints one line a violation and ends with status 1 when there is one.
"""
import pathlib
import re
import sys

import source_tree

CHAIN = ["base", "spec", "intake", "workload", "plan", "physics", "cost", "engine", "spread", "search", "compare", "optimize", "campaign", "together", "swarm", "validation",
         "calibration", "report", "study", "launch", "page", "cli",
         "library"]
# The Run's types stand beside the chain: they know only base, and those who fill or show a Run know them.
ALLOWED = {folder: set(CHAIN[:i]) for i, folder in enumerate(CHAIN)}
ALLOWED["run"] = {"base"}
# Spreading work over threads and nodes: it knows nothing of the work.
ALLOWED["spread"] = {"base"}
# One GPU, one node, one building: physics knows what they are made of and nothing of jobs' work.
ALLOWED["physics"] = {"base", "spec"}
# Files of other tools, and what they tell: they end in the same types as a Run of our own.
ALLOWED["import"] = {"base", "run"}
ALLOWED["analysis"] = {"base", "run"}
# This machine's sensors, and files that are played back as such; calibration measures through the same.
ALLOWED["record"] = {"base", "run", "import"}
# What goes on now, held to a prediction and to rules: files of rules are YAML, webhooks are pushed to.
ALLOWED["watch"] = {"base", "spec", "run", "record"}
# What many recorders push, kept and shown.
ALLOWED["serve"] = {"base", "spec", "run", "record", "watch"}
ALLOWED["calibration"].add("record")
for user in ("compare", "calibration", "report", "study", "launch", "page", "cli"):
    ALLOWED[user].add("analysis")
ALLOWED["launch"].add("import")
# Launch scripts and frameworks' files end as settings: only what meets users reads them.
for folder in CHAIN[CHAIN.index("intake") + 1:CHAIN.index("launch")]:
    ALLOWED[folder].discard("intake")
ALLOWED["cli"] |= {"import", "record", "watch", "serve"}
for user in CHAIN[CHAIN.index("engine"):]:
    ALLOWED[user].add("run")

# Slow to compile: never in a header, and each only where it is wrapped (tests may read JSON anywhere).
HEAVY = {
    "CLI/": {"cli"},
    "nlohmann/": {"spec", "intake", "run", "record", "validation", "report", "launch", "page", "cli", "library"},
    "pugixml.hpp": {"spec"},
    "yaml-cpp/": {"spec", "intake"},
    "toml++/": {"intake"},
    "sqlite3.h": {"run"},
    "Eigen/": {"calibration"},
    "simdjson": {"import", "serve"},
    "zlib.h": {"import", "page", "report"},
    "httplib.h": {"record"},
    "zstd": {"import"},
    "google/protobuf": {"import"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
FOLDER_CALL = re.compile(r"ergometer_folder\(\s*(\w+)(.*?)\)", re.DOTALL)
KEYWORDS = {"SOURCES", "TESTS", "LINKS", "LIBRARIES"}


def included(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == '"', match[2]


def check_include(source, path, folder, ours, name):
    """What is wrong with one #include, or None."""
    first = name.split("/")[0]
    if ours and "/" not in name:
        return f'"{name}": name the folder too, "{folder}/{name}"'
    if "/" in name and (ours or first in ALLOWED):
        if first not in ALLOWED:
            return f'"{name}": there is no folder src/{first}'
        if first != folder and first not in ALLOWED[folder]:
            return f'"{name}": {folder} may not include {first}, only {listed(ALLOWED[folder])}'
        if not (source / name).is_file():
            return f'"{name}": no such file'
    for prefix, folders in HEAVY.items():
        if name.startswith(prefix) and not name.endswith("_fwd.hpp"):
            if path.suffix == ".h":
                return f"<{name}>: slow to compile, include it in a .cpp file"
            json_in_test = prefix == "nlohmann/" and path.name.endswith("_test.cpp")
            if folder not in folders and not json_in_test:
                return f"<{name}>: only {listed(folders)} may use it"
    return None


def listed(folders):
    return ", ".join(sorted(folders)) or "nothing"


def check_links(path, folder):
    """What is wrong with the LINKS of a folder's CMakeLists.txt."""
    text = re.sub(r"#[^\n]*", "", path.read_text())
    for match in FOLDER_CALL.finditer(text):
        keyword = ""
        for word in match[2].split():
            if word in KEYWORDS:
                keyword = word
            elif keyword == "LINKS" and word not in ALLOWED[folder]:
                yield f"links {word}: {folder} may link only {listed(ALLOWED[folder])}"


def violations(source):
    found = []
    for folder in sorted(entry for entry in source.iterdir() if entry.is_dir()):
        if folder.name not in ALLOWED:
            found.append(f"{folder.name}: a folder without a place in the chain of {pathlib.Path(__file__).name}")
            continue
        for path in sorted(folder.rglob("*")):
            where = path.relative_to(source)
            if path.suffix in (".h", ".cpp"):
                for number, ours, name in included(path):
                    problem = check_include(source, path, folder.name, ours, name)
                    if problem:
                        found.append(f"src/{where}:{number}: {problem}")
            elif path.name == "CMakeLists.txt":
                found += [f"src/{where}: {problem}" for problem in check_links(path, folder.name)]
    return found


if __name__ == "__main__":
    sys.exit(source_tree.check(violations, "every include points left"))
