"""Uses a generated client: reads a plan, starts it, waits for its run, and reads what it left."""

import os
import sys
import time

from wf_client import AuthenticatedClient
from wf_client.api.plans import list_plans, show_plan, start_run
from wf_client.api.runs import list_artifacts, list_runs, list_steps, read_log, show_run
from wf_client.models import Error, Start

client = AuthenticatedClient(base_url=sys.argv[1], token=os.environ["WF_SERVER_KEY"])

assert [plan.name for plan in list_plans.sync(client=client).plans] == ["report"]
plan = show_plan.sync("report", client=client)
assert plan.params.to_dict()["required"] == ["region"], plan

refused = start_run.sync_detailed("report", client=client, body=Start.from_dict({"params": {}}))
assert refused.status_code == 422, refused
assert isinstance(refused.parsed, Error) and refused.parsed.error.code == "invalid_params", refused

start = Start.from_dict({"params": {"region": "eu"}, "digest": plan.digest})
first, again = (
    start_run.sync("report", client=client, body=start, idempotency_key="one of a kind") for _ in range(2)
)
assert first.run == again.run

while (run := show_run.sync(first.run, client=client)).ended is None:
    time.sleep(0.05)
assert (run.state, run.counts.failed) == ("succeeded", 0), run
assert [step.step for step in run.steps] == ["write"]
assert list_steps.sync(first.run, client=client, limit=1).steps[0].attempts[0].exit_code == 0
assert [line.text for line in read_log.sync(first.run, "write", client=client, from_=2, count=1).lines] == ["eu 2"]
assert list_artifacts.sync(first.run, client=client).artifacts[0].path == "out/report"
assert [run.id for run in list_runs.sync(client=client, plan="report", limit=1).runs] == [first.run]
missing = show_run.sync("ffff", client=client)
assert isinstance(missing, Error) and missing.error.code == "not_found", missing
print(first.run)
