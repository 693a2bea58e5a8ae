"""Paper C: StereoSet."""

PROBES = {"stereoset": "probe"}
