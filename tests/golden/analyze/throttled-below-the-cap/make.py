"""Readings of 8 GPUs at full load: all at their power cap at 1900 MHz, GPU 3 at 1200 MHz in hardware thermal slowdown from second
100 on; and of 4, of which GPU 2 is so from the first."""


def write(name, gpus, seconds, hot, since, cap_mhz, hot_mhz):
    with open(name, "w") as out:
        out.write("timestamp, index, name, power.draw [W], temperature.gpu, clocks.current.sm [MHz], utilization.gpu [%], "
                  "clocks_throttle_reasons.active\n")
        for t in range(seconds):
            for gpu in range(gpus):
                slow = gpu == hot and t >= since
                out.write(f"2025/05/01 10:{t // 60:02}:{t % 60:02}.000, {gpu}, NVIDIA H100 80GB HBM3, "
                          f"{500 if slow else 690 + gpu % 3} W, {88 if slow else 68 + (t + gpu) % 3}, "
                          f"{hot_mhz if slow else cap_mhz} MHz, 100 %, "
                          f"0x00000000000000{40 if slow else '04'}\n")


write("later.csv", 8, 200, 3, 100, 1900, 1200)
write("always.csv", 4, 60, 2, 0, 1300, 705)
