"""A small agent: it lets a model run scripts until it answers.

It gets its briefing as one line of JSON, and the address of the model, a token and the model's name from the
environment. It prints lines of JSON; the one with `"type": "answer"` counts.
"""

import json
import os
import subprocess
import sys
import urllib.request

RUN = {
    "type": "function",
    "function": {
        "name": "run",
        "description": "Runs a shell script in the workspace, and returns what it prints.",
        "parameters": {
            "type": "object",
            "properties": {"script": {"type": "string"}},
            "required": ["script"],
            "additionalProperties": False,
        },
    },
}


def ask(messages: list, schema: dict | None) -> dict:
    """Asks the model for its next message."""
    body = {"model": os.environ["WF_MODEL"], "messages": messages, "tools": [RUN]}
    if schema:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    request = urllib.request.Request(
        os.environ["WF_MODEL_URL"] + "/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", "authorization": "Bearer " + os.environ["WF_MODEL_TOKEN"]},
    )
    try:
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        print(json.dumps({"type": "error", "message": json.load(error)["error"]["message"]}))
        sys.exit(1)


def run(call: dict) -> dict:
    """Runs the script of a tool call."""
    script = json.loads(call["function"]["arguments"])["script"]
    done = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return {"role": "tool", "tool_call_id": call["id"], "content": f"{done.stdout}[exit code {done.returncode}]"}


briefing = json.loads(sys.stdin.readline())
conversation = [{"role": "user", "content": briefing["text"]}]
while True:
    message = ask(conversation, briefing.get("answer_schema"))
    conversation.append(message)
    if not message.get("tool_calls"):
        print(json.dumps({"type": "answer", "text": message["content"]}))
        break
    conversation += [run(call) for call in message["tool_calls"]]
