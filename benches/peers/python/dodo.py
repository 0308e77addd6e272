import os
import sys

sys.path.insert(0, os.getcwd())
from doit.tools import run_once
from steps import steps

DOIT_CONFIG = {"backend": "sqlite3", "dep_file": "doit.db", "verbosity": 0, "reporter": "zero"}


def task_s():
    for step, needs, command in steps():
        yield {
            "name": str(step),
            "actions": [command],
            "task_dep": [f"s:{need}" for need in needs],
            "uptodate": [run_once],
        }
