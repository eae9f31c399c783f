#!/usr/bin/env python3
"""Makes the Grafana board of what `ergometer record --listen` serves, from the table of docs/metrics.md.

    packaging/monitoring/board.py > packaging/monitoring/board.json

A panel's text is the table's on its metrics, its unit is its first metric's. Import board.json in Grafana (10 or newer)
and choose the Prometheus that scrapes the recorders.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPU = 'GPU {{gpu}} of {{host}}'
# Grafana's words for the units that metrics' names end with.
UNITS = {"watts": "watt", "joules": "joule", "celsius": "celsius", "hertz": "hertz", "bytes": "bytes",
         "bytes_per_second": "Bps", "ratio": "percentunit", "seconds": "s", "rpm": "rotrpm"}

# Rows of panels: title, queries as (expression, legend), and a unit where it is not the metric's own. $host is what the
# board's reader chose, $__rate_interval at least four scrapes.
ROWS = {
    "Power": [
        ("Power of GPUs by host", [('sum by (host) (ergometer_gpu_power_watts{host=~"$host"})', "{{host}}")]),
        ("Power of nodes at the plug", [('ergometer_node_power_watts{host=~"$host"}', "{{host}} ({{node}})")]),
        ("Power of each GPU", [('ergometer_gpu_power_watts{host=~"$host"}', GPU),
                               ('max(ergometer_gpu_power_limit_watts{host=~"$host"})', "limit")]),
        ("Power by the energy counter", [
            ('sum by (host) (rate(ergometer_gpu_energy_joules_total{host=~"$host"}[$__rate_interval]))', "{{host}}")], "watt"),
    ],
    "Heat": [
        ("Temperature of each GPU", [('ergometer_gpu_temperature_celsius{host=~"$host"}', GPU)]),
        ("Hottest memory by host",
         [('max by (host) (ergometer_gpu_memory_temperature_celsius{host=~"$host"})', "{{host}}")]),
        ("Air in and out", [('ergometer_node_inlet_temperature_celsius{host=~"$host"}', "{{host}} in"),
                            ('ergometer_node_outlet_temperature_celsius{host=~"$host"}', "{{host}} out")]),
        ("Kelvin left before clocks fall",
         [('min by (host) (ergometer_gpu_temperature_margin_celsius{host=~"$host"})', "{{host}}")]),
    ],
    "Clocks and work": [
        ("Clock of each GPU", [('ergometer_gpu_sm_clock_hertz{host=~"$host"}', GPU)]),
        ("GPUs held down, by reason",
         [('sum by (reason) (ergometer_gpu_clock_event_reason{host=~"$host", reason!="gpu_idle"})', "{{reason}}")], "short"),
        ("Share of time with a kernel",
         [('avg by (host) (ergometer_gpu_utilization_ratio{host=~"$host"})', "{{host}}")]),
        ("Memory in use", [('max by (host) (ergometer_gpu_memory_used_bytes{host=~"$host"})', "{{host}}, fullest GPU")]),
    ],
    "Network": [
        ("Share of ports' lines, sent", [
            ('rate(ergometer_port_transmit_bytes_total{host=~"$host"}[$__rate_interval])'
             ' / ergometer_port_line_rate_bytes_per_second', "{{port}} of {{host}}")], "percentunit"),
        ("NVLink, sent",
         [('sum by (host) (rate(ergometer_gpu_nvlink_transmit_bytes_total{host=~"$host"}[$__rate_interval]))', "{{host}}")],
         "Bps"),
    ],
    "Errors and the recorders": [
        ("Errors of memory and links", [
            ('increase(ergometer_gpu_ecc_uncorrected_errors_total{host=~"$host"}[5m]) > 0', f"memory, {GPU}"),
            ('increase(ergometer_gpu_nvlink_errors_total{host=~"$host"}[5m]) > 0', f"NVLink, {GPU}"),
            ('increase(ergometer_port_errors_total{host=~"$host"}[5m]) > 0', "{{port}} of {{host}}")], "short"),
        ("Recorders that answer", [('up{job="ergometer"}', "{{instance}}")], "short"),
        ("Share of looks missed", [
            ('rate(ergometer_recorder_missed_ticks_total[$__rate_interval])'
             ' / rate(ergometer_recorder_ticks_total[$__rate_interval])', "{{instance}}")], "percentunit"),
        ("Processors that recording takes",
         [('rate(process_cpu_seconds_total{job="ergometer"}[$__rate_interval])', "{{instance}}")], "short"),
    ],
}


def metrics():
    """What docs/metrics.md says of every metric, by its name."""
    rows = re.findall(r"^\| `([a-z_]+)` \|(.*)\|$", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE)
    cells = {name: [cell.strip() for cell in rest.split("|")] for name, rest in rows}
    return {name: cell[2] if len(cell) > 2 else f"{cell[0].capitalize()}." for name, cell in cells.items()}


def names_in(expression):
    """The metrics that an expression asks for, as the table names them: without ergometer_gpu_ and the like."""
    found = re.findall(r"\b((?:ergometer|process)_[a-z_]+)", expression)
    return [re.sub(r"^ergometer_(gpu|node|cpu|port)_", "", name) for name in found]


def panel(what, number, title, queries, unit=None):
    names = [name for expression, _ in queries for name in names_in(expression)]
    if unknown := [name for name in names if name not in what]:
        sys.exit(f"{title}: docs/metrics.md does not list {', '.join(unknown)}")
    if unit is None:
        unit = next(word for ending, word in UNITS.items() if names[0].endswith("_" + ending))
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "description": " ".join(dict.fromkeys(what[name] for name in names)),
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "fieldConfig": {"defaults": {"unit": unit, "custom": {"lineWidth": 1, "showPoints": "never"}}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [{"refId": chr(ord("A") + i), "expr": expression, "legendFormat": legend}
                    for i, (expression, legend) in enumerate(queries)],
    }


def board():
    what, panels, y = metrics(), [], 0
    for row, listed in ROWS.items():
        panels.append({"id": len(panels) + 1, "type": "row", "title": row, "collapsed": False, "panels": [],
                       "gridPos": {"h": 1, "w": 24, "x": 0, "y": y}})
        y += 1
        for i, arguments in enumerate(listed):
            panels.append({**panel(what, len(panels) + 1, *arguments), "gridPos": {"h": 8, "w": 12, "x": 12 * (i % 2), "y": y}})
            y += 8 * (i % 2)
        y += 8 * (len(listed) % 2)
    return {
        "title": "ergometer: power, heat and clocks", "uid": "ergometer", "tags": ["ergometer"], "schemaVersion": 39,
        "editable": True, "refresh": "5s", "time": {"from": "now-15m", "to": "now"}, "panels": panels,
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
            {"name": "host", "type": "query", "label": "Host", "multi": True, "includeAll": True, "allValue": ".*",
             "datasource": {"type": "prometheus", "uid": "${datasource}"}, "refresh": 2,
             "current": {"text": "All", "value": "$__all"},
             "query": {"query": "label_values(ergometer_gpu_power_watts, host)", "refId": "hosts"}}]},
    }


if __name__ == "__main__":
    print(json.dumps(board(), indent=1))
