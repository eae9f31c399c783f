"""Numbers as tables and sentences show them, held to the values that they are shown for."""

import re

SCALES = {
    "": 1, "%": 0.01, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60, "h": 3600,
    "Hz": 1, "K": 1, "W": 1, "kW": 1e3, "MW": 1e6, "J": 1, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9, "C": 1, "MHz": 1,
    "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
    "GB/s": 1, "tokens/J": 1,
}  # fmt: skip

NUMBER = re.compile(r"(?P<sign>-?)(?P<digits>\d[\d,]*(?:\.(?P<decimals>\d+))?)(?:e(?P<power>[+-]?\d+))?")


def parse(text):
    """The value of "1,952 MHz" in its base unit, and what half of its last digit comes to."""
    found = NUMBER.match(text.strip())
    if not found:
        raise ValueError(f"{text!r} holds no number")
    unit = text.strip()[found.end():].strip()
    if unit not in SCALES:
        raise ValueError(f"{text!r} is in a unit that is not known here")
    scale = SCALES[unit] * 10 ** int(found["power"] or 0)
    value = float(found["sign"] + found["digits"].replace(",", "")) * scale
    return value, 0.5 * 10 ** -len(found["decimals"] or "") * scale


def is_shown(text, value):
    """Whether a text is what `value` rounds to."""
    shown, half = parse(text)
    return abs(shown - value) <= half * (1 + 1e-6) + 1e-12 * abs(value)
