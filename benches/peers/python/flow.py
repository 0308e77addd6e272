import asyncio
import os
import sys
from collections import deque

from dbos import DBOS, SetWorkflowID
from steps import steps

STEPS = [(needs, command) for _, needs, command in steps()]


@DBOS.step()
async def step(command):
    child = await asyncio.create_subprocess_exec("/bin/sh", "-c", command)
    if await child.wait():
        print("a step failed", file=sys.stderr, flush=True)
        os._exit(1)


@DBOS.workflow()
async def flow(jobs):
    then = [[] for _ in STEPS]
    waits = [len(needs) for needs, _ in STEPS]
    for at, (needs, _) in enumerate(STEPS):
        for need in needs:
            then[need].append(at)
    ready = deque(at for at, count in enumerate(waits) if not count)
    running = {}
    while ready or running:
        while ready and len(running) < jobs:
            at = ready.popleft()
            running[asyncio.ensure_future(step(STEPS[at][1]))] = at
        ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
            for at in then[running.pop(task)]:
                waits[at] -= 1
                if not waits[at]:
                    ready.append(at)


async def main():
    config = {
        "name": "bench",
        "system_database_url": "sqlite:///dbos.db",
        "run_admin_server": False,
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()
    with SetWorkflowID("run"):
        handle = await DBOS.start_workflow_async(flow, int(sys.argv[1]))
    await handle.get_result()
    DBOS.destroy()


asyncio.run(main())
