#!/usr/bin/env python3
"""Makes docs/json.md, the names of everything that --json prints, from what the program prints.

    tests/docs/json_names.py [--ergometer PROGRAM] [--update]

Runs every golden case with --json and some commands more, and notes the names in their documents. What they mean
stands in json_meanings.txt beside this file, with names that no command shows here ("+ COMMAND NAME: ..."). Fails where the page is another one, where a name has no meaning, where a
meaning has no name, and where the code writes a name that no document had.
"""
import argparse
import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/json.md"
MEANINGS = HERE / "json_meanings.txt"
sys.path.insert(0, str(HERE.parent / "golden"))
import run as golden  # noqa: E402

# Documents that no golden case prints.
EXTRA = """
ergometer doctor --json
ergometer simulate gpt2 --cluster hgx-h100 --json
ergometer simulate gpt2 --cluster frontier --gpus 16 --json
ergometer simulate gpt2 --cluster hgx-h100 --power-cap 700 --json
ergometer simulate gpt2 --cluster '{groups: [{node: hgx-h100, nodes: 1}, {node: rtx-4090, nodes: 1}]}' --gpus 16 --pp 2 --mbs 1 --gbs 8 --json
ergometer simulate gpt2 --cluster '{extends: hgx-h100, fabric: {kind: torus, collectives: ib-400g, dims: [2], link_bandwidth: 1 Gb/s}}' --json
ergometer completion bash --json
ergometer simulate llama3-8b --cluster hgx-h100 --gpus 8 --gbs 8 --tp 2 --sp --fuse ag-gemm --precision fp8 --optimizer-cpu-offload --cpu-offloading-num-layers 4 \
  --linear-cross-entropy-fusion --use-precision-aware-optimizer --packed-mean-length 256 --power-smoothing floor=0.5,up=1000kW/s,down=50W/s --json
ergometer validate --microbench $ROOT/tests/golden/validate/microbench/kernels.csv --json
ergometer validate $ROOT/tests/golden/validate/explain/runs.csv --explain --json
ergometer calibrate --truth $ROOT/tests/golden/calibrate/leave-out-source/runs.csv \
  --parameters $ROOT/tests/golden/calibrate/leave-out-source/list.yaml --json
ergometer search llama3-8b --cluster hgx-h100 --gpus 8 --gbs 16 --fix tp=2,cp=1,schedule=1f1b \\
  --max-power-w 500 --pareto time,energy --top 1 --json
ergometer search $ROOT/tests/golden/search/job-file/job.yaml --fix schedule=1f1b,pp --top 1 --json
ergometer import $ROOT/tests/data/execution-trace/dlrm_eg_0.json.gz --out et.run --json
"""
# Objects whose names are data: parts of a GPU, axes of a study.
BY_NAME = re.compile(r"\b(parts|gpu_parts_w|node_parts_w|event_shares|axes|points\[\]\.settings|^job_file|refused_for|amount"
                     r"|(parts_)?residual|energy_by_way_j|slowdown_by_(operation|stage|replica))$")
# Objects that are another document, or a part of one, told elsewhere on the page.
ELSEWHERE = {"sweep": r"rows\[\]\.run$", "compare": r"comparisons\[\]$", "*": r"(^|\.)job$"}
# Commands whose documents hold the names of others.
WITHIN = {"analyze": ["simulate"], "record": ["simulate", "analyze"]}
# Where JSON is written that is no answer to --json, or one with a page of its own (docs/report-document.md).
OTHER_JSON = ("page/", "run/", "import/", "intake/", "record/", "spec/", "watch/", "launch/manifest", "study/change")
# The first that fits the part of a name nearest to its end.
UNITS = [(r"^tier_c$", ""), (r"tokens_per_s", "tokens/s"), (r"samples_per_s", "samples/s"), (r"tokens_per_j", "tokens/J"),
         (r"(^|_)gb_per_s$", "GB/s"), (r"bytes_per_s(_|$)", "B/s"), (r"_w_per_s$", "W/s"), (r"tflops", "TFLOP/s"),
         (r"_ns$", "ns"), (r"_mwh(_|$)", "MWh"), (r"(^|_)days(_|$)", "d"), (r"^co2_t(_|$)", "t"), (r"_m3(_|$)", "m³"), (r"gpu_hours(_|$)", "h"),
         (r"_s(_|$)|^seconds$", "s"), (r"(^|_)bytes(_of_all_links|_per_step)?$|_b$", "B"),
         (r"(_w|^watts)(_|$)", "W"), (r"(_j|(^|_)joules)(_|$)", "J"), (r"_c(_|$)", "°C"), (r"_mhz(_|$)", "MHz"),
         (r"(^|_)hz$", "Hz"), (r"_pct$", "%"), (r"_ppm$", "ppm")]


def meanings():
    """By the end of a path."""
    lines = MEANINGS.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and line[0] not in "#+")


def add_unseen(found, told):
    """Adds the names that no command shows here, since they need a machine, a scheduler or hours; gives these names."""
    unseen = []
    for line in MEANINGS.read_text(encoding="utf-8").splitlines():
        if line.startswith("+ "):
            name, meaning = line[2:].split(": ", 1)
            command, path = name.split(" ")
            found[command][path] = set()
            told[f"{command}.{path}"] = meaning
            unseen.append(path)
    return unseen


def documents(program):
    """(command, document) of everything that is printed with --json."""
    with tempfile.TemporaryDirectory(prefix="json-") as name:
        folder = pathlib.Path(name)
        keeper = folder / "ergometer"
        keeper.write_text(f"""#!/bin/sh
for word in "$@"; do [ "$word" = --json ] && kept=$(mktemp {folder}/$1.XXXXXX); done
[ -z "$kept" ] && exec {program} "$@"
{program} "$@" > "$kept"
status=$?
cat "$kept"
exit $status
""")
        keeper.chmod(0o755)
        for case in golden.find_cases(golden.GOLDEN, []):
            if "--json" in (case / "cmd").read_text():
                golden.run_case(case, keeper, ROOT)
        more = folder / "more"
        more.mkdir()
        (more / "cmd").write_text(EXTRA)
        golden.run_case(more, keeper, ROOT)
        for file in sorted(folder.glob("*.*")):
            text = file.read_text(encoding="utf-8")
            # A command that goes on prints documents of a line each.
            for document in text.splitlines() if text.startswith("{\"") else [text]:
                try:
                    yield file.name.split(".")[0], json.loads(document)
                except ValueError:
                    pass  # refused, or a table of a command that was meant to fail


def collect(command, value, path, names):
    """Notes the paths of a document; a list's are those of its entries."""
    for owner, elsewhere in ELSEWHERE.items():
        if owner in (command, "*") and isinstance(value, dict) and re.search(elsewhere, path):
            if owner != "*" or command != "simulate":
                names.setdefault(path, set())
                return
    if isinstance(value, dict):
        for key, member in value.items():
            key = "NAME" if BY_NAME.search(path) else key
            # What explains a number is explained as it is.
            deeper = re.sub(r"(inputs\[\]\.)+", "inputs[].", f"{path}.{key}" if path else key)
            collect(command, member, deeper, names)
    elif isinstance(value, list):
        names.setdefault(path + "[]", set())
        for member in value:
            collect(command, member, path + "[]", names)
    else:
        names.setdefault(path, set()).add(type(value).__name__)


def names_by_command(program):
    found = {}
    for command, document in documents(program):
        if command != "report":
            collect(command, document, "", found.setdefault(command, {}))
    for command, others in WITHIN.items():
        for other in others:
            for path in found[other]:
                found[command].pop(path, None)
    for names in found.values():
        for path in [p for p in names if p.endswith("[]")]:
            # A list of objects is told by what these hold.
            if any(other.startswith(path + ".") for other in names):
                del names[path]
    return found


def meaning_of(command, path, told, used):
    """That of the longest end of `command.path`, whose lists may be written without brackets."""
    parts = f"{command}.{path}".split(".")
    for start in range(len(parts)):
        end = ".".join(parts[start:])
        for word in (end, end.removesuffix("[]"), end.replace("[]", "")):
            if word in told:
                used.add(word)
                return told[word]
    return None


def unit_of(path, types):
    """Names say their units: the nearest to the end counts."""
    if types and not types & {"int", "float", "NoneType"}:
        return ""
    for part in reversed(path.replace("[]", "").split(".")):
        for pattern, unit in UNITS:
            if re.search(pattern, part):
                return unit
    return ""


def study_columns(program):
    """The header of a study's CSV behind its axis, with NAME for what depends on the job."""
    with tempfile.TemporaryDirectory(prefix="json-") as name:
        study = pathlib.Path(name) / "study.yaml"
        study.write_text("base: {model: llama3-8b, cluster: hgx-h100, gpus: 8, gbs: 8, seq: 2048}\naxes: {tp: [8]}\n")
        done = subprocess.run([program, "sweep", study, "--csv", "-"], capture_output=True, text=True, check=False)
    groups = r"^(links|power\.gpu_parts_w|power\.node_parts_w|thermal\.event_shares)\.[^.]+"
    header = done.stdout.split("\n", 1)[0].split(",")[1:]
    return list(dict.fromkeys(re.sub(groups, r"\1.NAME", name) for name in header))


def page_text(found, columns, told, problems, used):
    out = ["# Names in JSON and in studies", "",
           "Every name that `--json` prints, command by command, with its unit and what it is. `a.b` is the member `b` of the "
           "object", "`a`, `a[]` an entry of the list `a`, `NAME` a name that depends on the job. A name stays what it is while "
           "`schema_version`", "stays; new ones may come. What is not known is absent or null.", "",
           "`tests/docs/json_names.py` makes this page from what the program prints and fails where they differ. The document of",
           "`ergometer report --json` is told [on a page of its own](report-document.md).", "", "## Columns of a study", "",
           "What `ergometer sweep --csv` writes, `--columns` takes and the view `points` of a [Run file](run-file.md) has: first a "
           "column for", "every axis, under its name (`axis.NAME` where another column has that), then `family`, `id`, `status` and "
           "`reason`, then", "the numbers of the summary under their names below `simulate`. Links stand under their kind, "
           "`links.nic.utilization`.", "", "| column | unit | what |", "| --- | --- | --- |"]
    for name in columns:
        path = name.replace("links.NAME", "links[]") if "." in name else f"rows[].{name}"
        what = meaning_of("simulate" if "." in name else "sweep", path, told, used)
        if what is None:
            problems.append(f"column {name} has no meaning in {MEANINGS.name}")
        out.append(f"| `{name}` | {unit_of(name, set()) if '.' in name else ''} | {what} |")
    for command in sorted(found, key=lambda c: (c != "simulate", c)):
        out += ["", f"## {command}", ""]
        if command in WITHIN:
            out += ["Besides the names below those of " + " and ".join(f"`{c}`" for c in WITHIN[command]) +
                    ", as far as they are known.", ""]
        out += ["| name | unit | what |", "| --- | --- | --- |"]
        for path, types in sorted(found[command].items()):
            what = meaning_of(command, path, told, used)
            if what is None:
                problems.append(f"{command}: {path} has no meaning in {MEANINGS.name}")
            out.append(f"| `{path}` | {unit_of(path, types)} | {what} |")
    return "\n".join(out) + "\n"


def written_names():
    """Names that the code gives to members of JSON, with their files."""
    for file in sorted((ROOT / "src").rglob("*.cpp")):
        name = str(file.relative_to(ROOT / "src"))
        if not name.endswith("_test.cpp") and not name.startswith(OTHER_JSON):
            for word in re.findall(r'\b(?:member|known|key|list|array|object|objects|rows)\(\s*"([A-Za-z0-9_/-]+)"', file.read_text(encoding="utf-8")):
                yield word, name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ergometer", type=pathlib.Path, default=ROOT / "build/release/ergometer")
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    program = given.ergometer.resolve()
    told, problems, used = meanings(), [], set()
    found = names_by_command(program)
    unseen = add_unseen(found, told)
    text = page_text(found, study_columns(program), told, problems, used)
    written = list(written_names())
    known = {part for names in found.values() for path in names for part in re.split(r"[.\[\]]+", path)}
    problems += sorted({f"src/{file} writes \"{word}\", which no document had: add a golden case with --json"
                        for word, file in written if word not in known})
    problems += [f"{MEANINGS.name}: nothing writes {path}" for path in unseen
                 if path.rstrip("[]").split(".")[-1] not in {word for word, file in written}]
    problems += [f"{MEANINGS.name}: no document has {word}" for word in told if word not in used]
    print("\n".join(problems), end="\n" if problems else "")
    if given.update:
        PAGE.write_text(text, encoding="utf-8")
    elif text != (PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""):
        problems.append("the page differs")
        sys.stdout.writelines(difflib.unified_diff(PAGE.read_text(encoding="utf-8").splitlines(True) if PAGE.exists() else [],
                                                   text.splitlines(True), "docs/json.md", "what the program prints"))
        print("If this is what it should print: tests/docs/json_names.py --update")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
