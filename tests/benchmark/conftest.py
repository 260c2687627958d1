"""The benchmark is a folder of scripts: they find each other as Python finds a script's own."""

import sys
from pathlib import Path

_SCRIPTS = Path(__file__).resolve().parents[2] / "examples" / "benchmarks"
sys.path += [str(_SCRIPTS), str(_SCRIPTS / "published")]
