#!/usr/bin/env python3
"""Writes dumps of PyTorch's flight recorder as its pickler in C++ writes them (protocol 2, no type tags): 4 ranks, a group of
all and two of two, three steps of a training job, and a fault in the fourth.

    make.py FAULT FOLDER [--json]      FAULT: none, missing, mismatch, unfinished, circle, dead, receive
"""
import json
import pathlib
import struct
import sys

START_NS = 1_700_000_000_000_000_000


class Pickler:
    """What torch/csrc/jit/serialization/pickler.cpp writes of dicts, lists, tuples, texts and numbers."""

    def __init__(self):
        self.out, self.kept = bytearray(b"\x80\x02"), {}

    def keep(self, key):
        number = len(self.kept)
        self.kept[key] = number
        self.out += b"q" + bytes([number]) if number < 256 else b"r" + struct.pack("<I", number)

    def text(self, text):
        if text in self.kept:
            number = self.kept[text]
            self.out += b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)
            return
        raw = text.encode()
        self.out += b"X" + struct.pack("<I", len(raw)) + raw
        self.keep(text)

    def whole(self, number):
        if 0 <= number < 1 << 8:
            self.out += b"K" + bytes([number])
        elif 0 <= number < 1 << 16:
            self.out += b"M" + struct.pack("<H", number)
        elif -(1 << 31) <= number < 1 << 31:
            self.out += b"J" + struct.pack("<i", number)
        else:
            self.out += b"\x8a\x08" + struct.pack("<q", number)

    def push(self, value):
        if value is None:
            self.out += b"N"
        elif isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            self.whole(value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            self.text(value)
        elif isinstance(value, tuple):
            for each in value:
                self.push(each)
            self.out += {1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(value)]
        else:
            items = isinstance(value, list)
            self.out += b"]" if items else b"}"
            self.keep(id(value))
            self.out += b"("
            for each in value if items else value.items():
                for part in [each] if items else each:
                    self.push(part)
            self.out += b"e" if items else b"u"

    def bytes_of(self, value):
        self.push(value)
        return bytes(self.out + b".")


class Rank:
    def __init__(self, rank):
        self.rank, self.entries, self.sequence = rank, [], {}
        self.now = START_NS + 150_000 * rank

    def groups(self):
        pair = "1" if self.rank < 2 else "2"
        return {"0": "default_pg", pair: "TENSOR_MODEL_PARALLEL_GROUP"}

    def call(self, group, name, sizes, dtype, state, line, p2p=False, milliseconds=1.5):
        counter = (group, p2p)
        self.sequence[counter] = number = self.sequence.get(counter, 0) + 1
        ended = state == "completed"
        self.entries.append({
            "record_id": len(self.entries), "pg_id": int(group),
            "process_group": (group, self.groups()[group]),
            "collective_seq_id": 0 if p2p else number, "p2p_seq_id": number if p2p else 0,
            "op_id": len(self.entries), "profiling_name": name, "time_created_ns": self.now,
            "input_sizes": [sizes], "input_dtypes": [dtype], "output_sizes": [sizes], "output_dtypes": [dtype],
            "state": state, "time_discovered_started_ns": None if state == "scheduled" else self.now + 100_000,
            "time_discovered_completed_ns": self.now + 9_000_000 if ended else None,
            "retired": ended, "timeout_ms": 600000, "is_p2p": p2p,
            "frames": [{"name": "wrapper", "filename": "/usr/lib/python3/dist-packages/torch/distributed/c10d_logger.py",
                        "line": 81},
                       {"name": "train_step", "filename": "/home/job/train.py", "line": line}],
        })
        if ended:
            self.entries[-1]["duration_ms"] = milliseconds
        self.now += 10_000_000

    def dump(self):
        ranks = {"0": [0, 1, 2, 3], "1": [0, 1], "2": [2, 3]}
        return {"version": "2.10",
                "pg_config": {name: {"name": name, "desc": text, "ranks": str(ranks[name])}
                              for name, text in self.groups().items()},
                "pg_status": {name: {"last_enqueued_collective": self.sequence.get((name, False), -1),
                                     "last_started_collective": -1, "last_completed_collective": -1}
                              for name in self.groups()},
                "entries": self.entries}


def step(rank, fault):
    """A reduction in the pair, one of all; the fault, if any, is in this step."""
    pair = "1" if rank.rank < 2 else "2"
    tensor = lambda state: rank.call(pair, "nccl:all_reduce", [4, 4096], "BFloat16", state, 40, milliseconds=0.75)
    world = lambda state, size=1048576: rank.call("0", "nccl:all_reduce", [size], "Float", state, 88, milliseconds=3.0)
    if fault == "missing":          # rank 2 does something else, 3 waits for it, 0 and 1 for both
        if rank.rank != 2:
            tensor("completed" if rank.rank < 2 else "started")
        if rank.rank < 2:
            world("started")
    elif fault == "mismatch":       # rank 1 has a smaller tensor
        tensor("completed")
        world("started", 1048576 if rank.rank != 1 else 524288)
    elif fault in ("unfinished", "dead"):
        tensor("completed")
        world("started" if rank.rank != 3 else "scheduled")
    elif fault == "circle":         # rank 0 begins with all, the others with their pair
        for call in [world, tensor][:1] if rank.rank == 0 else [tensor, world][:1]:
            call("started" if rank.rank < 2 else "completed")
        if rank.rank > 1:
            world("started")
    elif fault == "receive":
        tensor("completed")
        if rank.rank == 2:
            rank.call("0", "nccl:recv 2<-0", [4, 4096], "BFloat16", "started", 61, p2p=True)
    else:
        tensor("completed")
        world("completed")


def main(fault, folder, as_json=False):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(4):
        rank = Rank(number)
        for _ in range(3):
            step(rank, "none")
        step(rank, fault)
        if fault == "dead" and number == 3:
            continue
        if as_json:
            (folder / f"nccl_trace_rank_{number}.json").write_text(json.dumps(rank.dump(), sort_keys=True))
        else:
            (folder / f"nccl_trace_rank_{number}").write_bytes(Pickler().bytes_of(rank.dump()))


if __name__ == "__main__":
    main(*sys.argv[1:3], as_json="--json" in sys.argv)
