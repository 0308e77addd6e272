"""Tries the function that the pipeline writes. Usage: try.py EXPECTED [NUMBER...]."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path("target/examples/pipeline")))

from mean import mean  # noqa: E402

expected, *numbers = (float(text) for text in sys.argv[1:])
found = mean(numbers)
if found != expected:
    sys.exit(f"the mean of {numbers} is {expected}, not {found}")
