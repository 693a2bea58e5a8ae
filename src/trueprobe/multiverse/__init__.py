"""`trueprobe multiverse`: a finished run counted in all the ways its probes declare, and one joint test of them.

`observed.py` reads cached answers again under other settings, `count.py` counts, `tables.py` writes the run's tables.
"""

from trueprobe.multiverse.count import FamilyMultiverse, multiverse
from trueprobe.multiverse.tables import write_tables

__all__ = ["FamilyMultiverse", "multiverse", "write_tables"]
