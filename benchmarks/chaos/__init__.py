"""The service under load while its parts are broken, and the judge of what it promised meanwhile."""

from benchmarks.common.service import ROOT

HOME = ROOT / "var" / "benchmarks" / "chaos"  # of what a run makes, and of the previous release
