"""A run folder made into what every renderer shows: findings, tables, figures and items, each decided once."""

from trueprobe.results.view.figures import about_seeds, of_probe, of_probe_and_its_seeds
from trueprobe.results.view.findings import Section, SectionKind, by_outcome, silences, tally
from trueprobe.results.view.headline import Answer, FindingsMatrix, State, matrix, whole
from trueprobe.results.view.items import ItemColumn, ItemRows
from trueprobe.results.view.key import Key
from trueprobe.results.view.number import DASH, EMPTY, Cell, Display, Finding, Grid, Kind, Mark, Number, Seed, counted
from trueprobe.results.view.pictures import FigureView, Picture, Point
from trueprobe.results.view.report import Gap, ProbeReport, Report
from trueprobe.results.view.select import where
from trueprobe.results.view.source import ReportSource
from trueprobe.statistics.rows import grouped

__all__ = [
    "DASH",
    "EMPTY",
    "Answer",
    "Cell",
    "Display",
    "FigureView",
    "Finding",
    "FindingsMatrix",
    "Gap",
    "Grid",
    "ItemColumn",
    "ItemRows",
    "Key",
    "Kind",
    "Mark",
    "Number",
    "Picture",
    "Point",
    "ProbeReport",
    "Report",
    "ReportSource",
    "Section",
    "SectionKind",
    "Seed",
    "State",
    "about_seeds",
    "by_outcome",
    "counted",
    "grouped",
    "matrix",
    "of_probe",
    "of_probe_and_its_seeds",
    "silences",
    "tally",
    "where",
    "whole",
]
