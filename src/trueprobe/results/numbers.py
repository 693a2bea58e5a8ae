"""How numbers are written: one way for figures, tables and sentences. Nothing is rounded before it is written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from trueprobe.types import Unit

_PERCENT = (Unit.SHARE, Unit.PROBABILITY)
_SMALL = 0.05  # of a ratio: below, two digits are too few
_DIGITS = {Unit.RANK: 1, Unit.PERCENT: 1}


@dataclass(frozen=True)
class NumberFormat:
    factor: float
    suffix: str  # behind one number in running text
    digits: int
    signed: bool

    @classmethod
    def of(cls, unit: str, neutral: float | None, values: Iterable[float] = ()) -> NumberFormat:
        """Differences from zero have a sign; small probabilities and ratios get another digit."""
        signed = neutral == 0
        largest = max((abs(v) for v in values if not math.isnan(v)), default=1.0)
        if unit not in _PERCENT:
            if unit == Unit.VARIANCE:
                return cls(10_000, " points²", 1, signed)
            small = unit in (Unit.RATIO, Unit.SCORE) and not signed and 0 < largest < _SMALL
            return cls(1, " %" if unit == Unit.PERCENT else "", _DIGITS.get(Unit(unit), 2) + small, signed)
        digits = 0 if unit == "share" and (largest >= 0.1 or not largest) else 1 if largest >= 0.01 else 2
        return cls(100, " points" if signed else " %", digits, signed)

    def plain(self, value: float) -> str:
        """The number alone, with a true minus; a dash where there is none."""
        if value is None or math.isnan(value):
            return "–"
        text = f"{self.factor * value:{'+' if self.signed else ''},.{self.digits}f}"
        if not text.strip("+-0.,"):  # a rounded nothing has no sign
            text = text.lstrip("+-")
        return text.replace("-", "−")

    def with_clear_digits(self, low: float, high: float) -> NumberFormat:
        """With the digits that show on which side of zero an interval lies, or how far it reaches."""
        ends = abs(low), abs(high)
        smallest = self.factor * (min(ends) if low * high > 0 else max(ends))
        if not self.signed or not smallest or round(smallest, self.digits) > 0 or self.digits >= 4:
            return self
        return replace(self, digits=self.digits + 1).with_clear_digits(low, high)

    def parts(self, value: float, low: float, high: float) -> tuple[str, str]:
        """The number and its interval, which is empty where there is none."""
        if value is None or math.isnan(value) or math.isnan(low) or math.isnan(high):
            return self.plain(value), ""
        form = self.with_clear_digits(low, high)
        return form.plain(value), f"[{form.plain(low)}, {form.plain(high)}]"

    def number(self, value: float, low: float = math.nan, high: float = math.nan, suffix: str = "") -> str:
        """+3.1 [+1.0, +5.2], or the number alone where there is no interval."""
        number, interval = self.parts(value, low, high)
        return f"{number}{suffix} {interval}" if interval else number + suffix

    def at(self, value: float) -> str:
        """A neutral value: `50 %`, `0`."""
        return f"{self.factor * value:g}{self.suffix if value else ''}"

    def sentence(self, value: float, low: float = math.nan, high: float = math.nan) -> str:
        """With its unit: +3.1 points [+1.0, +5.2]."""
        return "no number" if value is None or math.isnan(value) else self.number(value, low, high, self.suffix)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`."""
    if not high > low:
        high, low = low + 1, low - (1 if low else 0)
    rough = (high - low) / most
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def bounds(unit: str, neutral: float | None) -> tuple[float, float]:
    """Where a quantity ends: shares at 0 and 1, their differences at −1 and 1; ratios and ranks at 0 alone."""
    if unit in (*_PERCENT, Unit.SCORE, Unit.CORRELATION):
        return (-1.0 if neutral == 0 else 0.0), 1.0
    return (0.0 if unit in (Unit.RATIO, Unit.RANK, Unit.PERCENT) and neutral != 0 else -math.inf), math.inf


def count(number: float) -> str:
    return f"{int(number):,}"


def several(number: float, what: str) -> str:
    """`1 item`, `1,200 items`."""
    return f"{count(number)} {what}{'' if number == 1 else 's'}"


def p_text(p: float) -> str:
    return "–" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"
