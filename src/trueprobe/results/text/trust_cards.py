"""What a measure would have noticed: one sentence, made of the numbers of its trust card."""

from __future__ import annotations

import math

from trueprobe.probes.trust_cards import TrustCard
from trueprobe.results.numbers import count, several
from trueprobe.results.text.tables import Titled
from trueprobe.statistics.detection import LimitKind, NoLimit

TRUST_CARDS = Titled(
    "What would have been detected?",
    "Planted associations of known strength: the smallest that is found with a chance of 80 %, in nats of log-odds on "
    "sentences that no probe uses, with its 95 % interval over other associations and seeds.",
)
HEADER = ("measure", "model", "detection limit")
_NONE = {
    NoLimit.WRONG_SIGN: "moves against what was planted",
    NoLimit.NO_MANIPULATION: "has no detection limit: nothing could be planted",
}


def sentence(card: TrustCard, finds: bool) -> str:
    """`finds`: whether this measure has a finding in the run."""
    limit = card.limit
    about = f"in {card.kind} models like {card.model}"
    if limit.why is not None:
        return f"{_NONE[limit.why]} {about}"
    seeds = several(limit.seeds, "seed") if card.level == "family" else "one checkpoint"
    holds = f"{about}, with {seeds} and {count(card.items)} items at α = {limit.alpha:g}"
    if limit.kind is LimitKind.ABOVE:
        return f"would miss even {limit.nats:.2g} nats {holds}"
    at = "at most " if limit.kind is LimitKind.AT_MOST else ""
    absent = "" if finds else "; nothing was found here, and smaller effects are not excluded"
    return f"would detect {at}{limit.nats:.2g} nats{_interval(card)} {holds}{absent}"


def _interval(card: TrustCard) -> str:
    low, high = card.limit.low, card.limit.high
    if card.limit.kind is not LimitKind.AT or math.isnan(low):
        return ""
    return f" ({low:.2g} to {high:.2g})" if math.isfinite(high) else f" ({low:.2g} or more)"
