"""Says what an Expression would make of the portfolio, for the gates of write-expression.md."""

import json
import os

import archive

params = json.loads(os.environ["WF_GATE_CONTEXT"])["params"]
now = archive.parse(archive.read("portfolio/state.md"))[0]
print(f"gross: {float(now['gross']) + params['notional']}")
print(f"duration: {abs(params['duration_impact'])}")
print(f"factor: {float(now['factor_' + params['factor']]) + params['factor_pct']}")
