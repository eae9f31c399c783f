"""What OpenTelemetry's collector writes into files: spans of two ranks' iterations and a checkpoint, gauges of steps by counts, and
readings of a recorder that pushed them there."""
import json

SECOND = 1_000_000_000


def attributes(**values):
    return [{"key": key.replace("_", "."), "value": {"stringValue": str(value)}} for key, value in values.items()]


def metric(name, unit, points, kind="gauge"):
    return {"name": name, "unit": unit, kind: {"dataPoints": [
        {"timeUnixNano": str(time_ns), "asDouble": value, "attributes": attributes(**labels)} for time_ns, value, labels in points]}}


def metrics(*made):
    return {"resourceMetrics": [{"resource": {"attributes": attributes(host_name="node1")}, "scopeMetrics": [{"metrics": list(made)}]}]}


def span(name, start_ns, end_ns, **labels):
    return {"name": name, "startTimeUnixNano": str(start_ns), "endTimeUnixNano": str(end_ns), "attributes": attributes(**labels)}


def spans(*made):
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(made)}]}]}


START = 1_764_190_000 * SECOND
with open("spans.jsonl", "w") as out:
    at = START
    for step in range(1, 21):
        length = (3 if step == 1 else 1) * SECOND // 2
        print(json.dumps(spans(*(span("training_single_iteration", at + rank, at + length + rank, iteration=step) for rank in range(2)))), file=out)
        at += length
        if step == 10:
            print(json.dumps(spans(span("checkpoint_save_sync", at, at + SECOND))), file=out)
            at += SECOND
with open("counts.jsonl", "w") as out:
    for number in range(10):
        time_ns = START + number * 5 * SECOND
        print(json.dumps(metrics(metric("train_iterations_end", "", [(time_ns, 10 * number, {})]),
                                 metric("train_iterations_time_msecs_total", "ms", [(time_ns, 5000 * number, {})]))), file=out)
with open("readings.jsonl", "w") as out:
    for second in range(30):
        time_ns = START + second * SECOND
        print(json.dumps(metrics(*(metric(name, unit, [(time_ns, value + gpu, {"gpu": gpu}) for gpu in range(2)], kind) for name, unit, value, kind in (
            ("ergometer.gpu.power", "W", 500, "gauge"), ("ergometer.gpu.temperature", "Cel", 60, "gauge"),
            ("ergometer.gpu.energy", "J", 500 * second, "sum"), ("somebody.elses", "", 1, "gauge"))))), file=out)
