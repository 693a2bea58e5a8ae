"""The public contract tests: what every backend and every probe must hold. Behind `trueprobe check`."""

from trueprobe.runs.check.model import NEAR, check_model, sample_requests, worst
from trueprobe.runs.check.probe import Check, check_probe, headline_value, planted_answer, planted_frame, stand_in

__all__ = [
    "NEAR",
    "Check",
    "check_model",
    "check_probe",
    "headline_value",
    "planted_answer",
    "planted_frame",
    "sample_requests",
    "stand_in",
    "worst",
]
