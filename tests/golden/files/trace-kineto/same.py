"""Whether analyze tells of a trace in PyTorch's terms what it tells of the Run that it was written of. Launches are no
prediction: what says when the host launched is left out."""
import json

run, kineto = (json.load(open(name)) for name in ("run.json", "kineto.json"))
a, b = run["trace"], kineto["trace"]


def is_same(name, one, other):
    print(name, "the same" if one == other and one else "DIFFER")


def times(trace):
    return [{name: rank[name] for name in rank if name.endswith("_ns") and name != "idle_cause_ns"} | {"steps": rank["steps"]}
            for rank in trace["ranks"]]


is_same("ranks", times(a), times(b))
for name in ("kernels", "collectives", "arrivals", "classes"):
    is_same(name, a[name], b[name])
is_same("phases", a["phases"]["rows"], b["phases"]["rows"])
for name in ("process_groups", "parallelisms"):
    is_same(name, run[name], kineto[name])
