"""metrics.prom of HOSTS nodes of 8 GPUs, read every 15 s for half an hour, as Prometheus scrapes DCGM. Of "faults", five
GPUs are held by something each, and two of them become 20 C hotter; of "capped", every GPU of odd nodes is at its power
limit for a part of the time."""
import random
import sys

HOSTS, FAULTS = int(sys.argv[1]), sys.argv[2] == "faults"
READINGS, EPOCH_MS = 120, 1_760_000_000_000
noise = random.Random(1)
#  node, gpu: reason, from reading, clock, degrees more
HELD = {(1, 2): (0x4, 60, 1700, 0), (2, 5): (0x88, 30, 345, -15), (3, 6): (0x20, 80, 1500, 20),
        (3, 7): (0x48, 40, 990, 20), (2, 1): (0x8, 100, 1200, 0)}

with open("metrics.prom", "w") as out:
    for node in range(1, HOSTS + 1):
        for gpu in range(8):
            held = HELD.get((node, gpu)) if FAULTS else (0x4, 40 + gpu, 1800, 0) if node % 2 else None
            labels = f'{{gpu="{gpu}",UUID="GPU-{node}-{gpu}",modelName="NVIDIA H100 80GB HBM3",Hostname="node-{node}"}}'
            for i in range(READINGS):
                reason, _, clock, hotter = held if held and i >= held[1] else (0, 0, 1980, 0)
                celsius = (44 if (node, gpu) == (1, 0) else 62 + gpu % 3) + hotter + noise.choice((-1, 0, 0, 1))
                for name, value in (("POWER_USAGE", 600 if clock > 1000 else 250), ("GPU_TEMP", celsius),
                                    ("SM_CLOCK", clock), ("CLOCKS_EVENT_REASONS", reason)):
                    print(f"DCGM_FI_DEV_{name}{labels} {value} {EPOCH_MS + 15000 * i}", file=out)
