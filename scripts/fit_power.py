#!/usr/bin/env python3
"""Fits the parameters of catalog/power/{v100,a40,a100}.yaml that are marked fitted.

    scripts/fit_power.py v100|a40    power caps of Zeus, every other of the jobs that respond to them
    scripts/fit_power.py a100        clock ladder of Perseus

Prints the parameters; src/physics/power_cap_test.cpp and clock_ladder_test.cpp score them with the program's own
governor. A fit of minutes, by hand, when the model changes: needs NumPy and SciPy, which nothing else here does.
"""
import csv
import pathlib
import sys
from collections import defaultdict

import numpy as np
from scipy.optimize import least_squares, minimize

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests/data"
SHARES = np.linspace(0, 1, 51)  # of a job's work that follows the clock
ACTIVITY = np.linspace(0, 700, 141)  # W at the highest clock


def voltage(x, lowest, knee):
    return lowest + (1 - lowest) * np.clip((x - knee) / (1 - knee), 0, None)


# name: start, first step of the simplex, lowest, highest. Step 0: held.
CAPS = {
    "v100": dict(lattice=(135, 1380, 7.5), leakage_per_k=0.02, inlet=32, resistance=0.16, parameters=dict(
        constant=(12, 0, 5, 90), leakage=(70, 0, 0, 90), active=(25, 0, 12, 150), voltage_min=(0.6, -0.1, 0.4, 1),
        voltage_knee=(0.8, 0.1, 0.1, 0.98), ripple=(0.34, 0.2, 0, 0.95), memory_share=(0.23, 0.1, 0, 0.6),
        light_share=(0.07, 0.2, 0, 1), held=(0.991, 0.01, 0.95, 1.02), memory_clock=(0.44, 0.15, 0.1, 0.95),
        floor=(0.1, 0, 0.05, 0.5))),
    "a40": dict(lattice=(210, 1740, 15), leakage_per_k=0, inlet=60, resistance=0, parameters=dict(
        constant=(50, 10, 5, 90), leakage=(26, 10, 0, 60), active=(14, 20, 12, 150), voltage_min=(0.6, -0.1, 0.4, 1),
        voltage_knee=(0.85, 0.1, 0.1, 0.98), ripple=(0.2, 0.2, 0, 0.95), memory_share=(0.2, 0.1, 0, 0.6),
        light_share=(0.03, 0.2, 0, 1), held=(0.98, 0.01, 0.95, 1.02), memory_clock=(0.6, 0.15, 0.1, 0.95),
        floor=(0.245, 0.05, 0.05, 0.5))),
}


def read_jobs(gpu):
    found = defaultdict(dict)
    with open(DATA / f"zeus/summary_power_{gpu}.csv") as file:
        for row in csv.DictReader(file):
            name = tuple(row[key] for key in ("dataset", "network", "batch_size", "optimizer"))
            found[name][float(row["power_limit"])] = (float(row["time_per_epoch"]), float(row["average_power"]))
    jobs = []
    for _, rows in sorted(found.items()):
        caps = np.array(sorted(rows))
        jobs.append((caps, *np.array([rows[cap] for cap in caps]).T))
    return jobs


class Table:
    """Time and energy of clocked and of light work, for every activity and cap."""

    def __init__(self, kind, p, caps):
        low, high, step = kind["lattice"]
        x = np.arange(low, high + 1e-6, step) / high
        v = voltage(x, p["voltage_min"], p["voltage_knee"])
        work = (1 - p["memory_share"]) * v**2 + p["memory_share"]
        slowed = np.maximum(1, p["memory_clock"] / x)
        shape = (len(ACTIVITY), len(caps))
        self.clocked_t, self.clocked_e, self.light_t, self.light_e = (np.zeros(shape) for _ in range(4))
        first = np.searchsorted(x, p["floor"])
        rows = np.arange(len(ACTIVITY))

        def decide(power, cap):
            return np.clip((power <= cap * p["held"]).sum(1) - 1, first, None)

        for j, cap in enumerate(caps):
            die = kind["inlet"] + kind["resistance"] * min(cap, 225)
            base = p["constant"] + p["leakage"] * np.exp(kind["leakage_per_k"] * (die - 60)) * v + p["active"] * v**2 * x
            for part in (1 + p["ripple"], 1, 1 - p["ripple"]):
                power = base + part * ACTIVITY[:, None] * work * x
                i = decide(power, cap)
                self.clocked_t[:, j] += 1 / (3 * x[i])
                self.clocked_e[:, j] += power[rows, i] / (3 * x[i])
            power = base + p["light_share"] * ACTIVITY[:, None] * work
            i = decide(power, cap)
            self.light_t[:, j] = slowed[i]
            self.light_e[:, j] = power[rows, i] * slowed[i]


def job_score(table, columns, time, power):
    share = SHARES[:, None, None]
    t = share * table.clocked_t[:, columns] + (1 - share) * table.light_t[:, columns]
    e = share * table.clocked_e[:, columns] + (1 - share) * table.light_e[:, columns]
    p = e / t
    every = np.arange(len(SHARES))
    # Activity between two of the table's, so that the highest cap's power is the measured one.
    j = np.clip((p[:, :, -1] < power[-1]).sum(1) - 1, 0, len(ACTIVITY) - 2)
    below, above = p[every, j, -1], p[every, j + 1, -1]
    f = np.clip((power[-1] - below) / np.maximum(above - below, 1e-9), 0, 1)[:, None]
    t = t[every, j] * (1 - f) + t[every, j + 1] * f
    p = p[every, j] * (1 - f) + p[every, j + 1] * f
    time_error = t / t[:, -1:] / (time / time[-1]) - 1
    return (((time_error / 0.03) ** 2).sum(1) + ((p / power - 1) ** 2 / 0.05**2).sum(1)).min()


def fit_caps(gpu):
    kind = CAPS[gpu]
    jobs = [job for job in read_jobs(gpu) if job[1][0] > 1.08 * job[1][-1] and job[2][-1] > 1.2 * job[0][0]][::2]
    caps = np.array(sorted({cap for job in jobs for cap in job[0]}))
    names = [name for name, (_, step, _, _) in kind["parameters"].items() if step]
    start, step, low, high = np.array([kind["parameters"][name] for name in names]).T

    def parameters(q):
        return {name: value[0] for name, value in kind["parameters"].items()} | dict(zip(names, q))

    def score(q):
        inside = np.clip(q, low, high)
        table = Table(kind, parameters(inside), caps)
        return 1e3 * (((q - inside) / step) ** 2).sum() + sum(
            min(150, job_score(table, np.searchsorted(caps, job[0]), job[1], job[2])) for job in jobs)

    best = start
    for shrink in (1, 0.5, 0.25):
        simplex = np.vstack([best, best + np.diag(step * shrink)])
        best = np.clip(minimize(score, best, method="Nelder-Mead",
                                options=dict(maxfev=400, initial_simplex=simplex)).x, low, high)
    print(len(jobs), "jobs, score", round(score(best), 1))
    for name, value in parameters(best).items():
        print(f"{name:14} {value:.4g}")


def fit_ladder():
    constant, leakage, active, cap, memory = 35, 30, 60, 480, 0.2
    found = defaultdict(list)
    with open(DATA / "perseus/gpt3-175b-a100.csv") as file:
        for row in csv.DictReader(file):
            if row["stage"] in "07":
                found[row["stage"], row["instruction"]].append(
                    [float(row[key]) for key in ("frequency", "time", "energy")])
    ladders = [np.array(sorted(rows)) for rows in found.values()]
    x = np.arange(210, 1411, 15) / 1410

    def residuals(q):
        v = voltage(x, q[0], q[1])
        out = []
        for ladder, (work, share, base) in zip(ladders, q[2:].reshape(-1, 3)):
            slow = 1 - share + share / x
            power = constant + leakage * v + active * v**2 * x + work * (v**2 + memory) / slow
            i = np.minimum(np.round((ladder[:, 0] - 210) / 15).astype(int), (power <= cap).sum() - 1)
            time = base * slow[i]
            out += [(time / ladder[:, 1] - 1) / 0.03, (power[i] * time / ladder[:, 2] - 1) / 0.05]
        return np.concatenate(out)

    jobs = [value for ladder in ladders for value in (350, 0.9, ladder[-1, 1])]
    bounds = ([0.4, 0.2] + [0, 0, 0] * len(ladders), [1, 0.98] + [800, 1, 10] * len(ladders))
    best = min((least_squares(residuals, [0.82, knee] + jobs, bounds=bounds) for knee in (0.72, 0.76, 0.8)),
               key=lambda result: result.cost)
    print(f"voltage_min {best.x[0]:.3f}\nvoltage_knee {best.x[1]:.3f}")


if __name__ == "__main__":
    if sys.argv[1:] in (["v100"], ["a40"]):
        fit_caps(sys.argv[1])
    elif sys.argv[1:] == ["a100"]:
        fit_ladder()
    else:
        sys.exit(__doc__)
