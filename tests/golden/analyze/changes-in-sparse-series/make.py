"""Clock and temperature of a GPU, read every 15 s for 50 minutes: at 14:20:00 the clock falls and the GPU cools down."""
import random

noise = random.Random(1)
with open("smi.csv", "w") as out:
    print("timestamp, index, clocks.sm [MHz], temperature.gpu", file=out)
    for i in range(200):
        second = 14 * 3600 + 15 * i
        late = second >= 14 * 3600 + 20 * 60
        print(f"2026/01/02 {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000, 3, "
              f"{(1500 if late else 1980) + noise.randrange(-9, 10)}, {(55 if late else 66) + noise.randrange(3)}", file=out)
    # The last three readings are no level yet.
    for i in range(3):
        print(f"2026/01/02 14:50:{15 * i:02}.000, 3, 400, 40", file=out)
