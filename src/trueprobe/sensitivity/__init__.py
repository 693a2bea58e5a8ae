"""Does a probe detect a bias that is there? A known association is planted, and probes are run at every dose of it."""

from trueprobe.sensitivity.report import Result
from trueprobe.sensitivity.session import Analysis, Request

__all__ = ["Analysis", "Request", "Result"]
