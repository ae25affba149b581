#!/usr/bin/env python3
"""Somebody else's agent loop, reporting to Heddle what it does.

The "model" is a list of three decisions; the tools are real. Every step is recorded before the next one is taken, so that
whoever follows the thread sees it happen. With --die the process ends in the middle of the last tool, as crashes do.
"""
import argparse
import json
import os
import subprocess
import sys
import uuid

from heddle_client import Heddle
from recording import Recording, body

HERE = os.path.dirname(os.path.abspath(__file__))

COUNT = "import time\nfor n in range(1, 6): print('line', n, flush=True); time.sleep(0.05)"


def main():
    options = arguments()
    heddle = Heddle(options.server, token=options.token, ca_file=options.ca_file)
    thread = heddle.call("heddle.v1.ThreadService/CreateThread", {"threadId": options.thread, "title": "python agent"}).thread
    print(thread.id, flush=True)
    with Recording(heddle, thread.id, producer="python-agent", lease_seconds=options.lease) as recording:
        run_agent(recording, die=options.die)


def run_agent(recording, die):
    """The loop: what the model decides, one tool after the other."""
    run = Run(recording)
    run.record(runStarted={"model": "scripted"})
    run.message("ROLE_USER", "What is in this directory, and does it run?")
    decisions = [
        (list_directory, {"path": HERE}),
        (search_text, {"path": HERE, "text": "RecordEvents"}),
        (run_command, {"command": [sys.executable, "-c", COUNT]}),
    ]
    for index, (tool, given) in enumerate(decisions):
        is_last = index == len(decisions) - 1
        run.tool_call(tool, given, index, after_output=end_here if die and is_last else None)
    run.message("ROLE_ASSISTANT", "A client, a recording and an agent. It runs.")
    run.record(runCompleted={"outcome": "RUN_OUTCOME_SUCCEEDED", "finishReason": "stop"})


def end_here():
    """No goodbye, no clean-up: the server finds out by itself."""
    os._exit(1)


class Run:
    """One run of a recording: every event carries its id."""

    def __init__(self, recording):
        self._recording = recording
        self._id = str(uuid.uuid4())

    def record(self, *more, contents=(), **payload):
        """Records events, each a dictionary with one payload, and waits until they are on the server's disk."""
        events = [*([payload] if payload else []), *more]
        self._recording.record([{"runId": self._id, **event} for event in events], contents)

    def message(self, role, text):
        message = {"messageId": str(uuid.uuid4())}
        self.record(
            {"messageCreated": {**message, "role": role}},
            {"messageDelta": {**message, "text": text}},
            {"messageCompleted": message},
        )

    def tool_call(self, tool, given, index, after_output):
        """One call from its first event to its last."""
        call = {"toolCallId": str(uuid.uuid4())}
        text = json.dumps(given)
        self.record(toolCallCreated={**call, "toolName": tool.__name__, "title": tool.title, "kind": tool.kind, "index": index})
        # A model's input arrives in pieces; so does this one.
        self.record(*({"toolCallInputDelta": {**call, "text": piece}} for piece in (text[:10], text[10:])))
        self.record(toolCallInputCompleted={**call, "summary": tool.about(given)}, contents=[body(call, "input", text)])
        # Stored before the tool does anything: a crash leaves a trace.
        self.record(toolCallStarted=call)
        try:
            complete, result = self._execute(tool(**given), call, after_output)
        except Exception as error:  # A tool may fail in any way; the call still gets its end.
            message = f"{type(error).__name__}: {error}"
            complete = {"outcome": "TOOL_CALL_OUTCOME_FAILED", "summary": message, "error": {"kind": "tool_error", "message": message}}
            result = {"error": message}
        self.record(toolCallComplete={**call, **complete}, contents=[body(call, "result", json.dumps(result))])

    def _execute(self, steps, call, after_output):
        """Runs a tool to its end and records what it says on the way."""
        while True:
            try:
                kind, said = next(steps)
            except StopIteration as end:
                return end.value
            self.record({kind: {**call, **said}})
            if after_output and kind == "toolCallOutputDelta":
                after_output()


# The tools: generators that say what they are doing, and return what came of it (the event, the result).


def list_directory(path):
    entries = sorted(os.listdir(path))
    yield "toolCallProgress", {"completed": len(entries), "total": len(entries), "message": f"{len(entries)} entries"}
    return succeeded(f"Found {len(entries)} entries", locations=[{"path": path}]), {"entries": entries}


def search_text(path, text):
    files = sorted(name for name in os.listdir(path) if name.endswith((".py", ".md")))
    found = []
    for done, name in enumerate(files, start=1):
        with open(os.path.join(path, name), encoding="utf-8") as file:
            found += [(name, number) for number, line in enumerate(file, start=1) if text in line]
        yield "toolCallProgress", {"phase": "TOOL_CALL_PHASE_SEARCHING", "completed": done, "total": len(files), "message": name}
    locations = [{"path": os.path.join(path, name), "line": line} for name, line in found]
    return succeeded(f"Found {len(found)} places", locations=locations), {"matches": found}


def run_command(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        yield "toolCallOutputDelta", {"text": line}
    code = process.wait()
    if code == 0:
        return succeeded("The command ran (exit code 0)", exitCode=0), {"exitCode": 0}
    message = f"The command failed (exit code {code})"
    failed = {"outcome": "TOOL_CALL_OUTCOME_FAILED", "summary": message, "exitCode": code}
    return {**failed, "error": {"kind": "tool_error", "code": str(code), "message": message}}, {"exitCode": code}


def succeeded(summary, **more):
    return {"outcome": "TOOL_CALL_OUTCOME_SUCCEEDED", "summary": summary, **more}


def tool(function, title, kind, about):
    """What people are shown of a tool: its name, its kind, and what a call is about to do."""
    function.title, function.kind, function.about = title, kind, about


tool(list_directory, "List a directory", "TOOL_KIND_READ", lambda given: f"Listing {given['path']}")
tool(search_text, "Search files", "TOOL_KIND_SEARCH", lambda given: f"Searching {given['path']} for {given['text']}")
tool(run_command, "Run a command", "TOOL_KIND_EXECUTE", lambda given: f"Running {os.path.basename(given['command'][0])}")


def arguments():
    parser = argparse.ArgumentParser(description="An agent loop that records what it does with Heddle.")
    parser.add_argument("--server", default="127.0.0.1:8787", help="host:port of the server (default: %(default)s)")
    parser.add_argument("--thread", default="", help="the thread to record on, a UUID (default: a new one)")
    parser.add_argument("--lease", type=float, default=30, help="seconds of silence after which we are given up (default: %(default)s)")
    parser.add_argument("--token", default=os.environ.get("HEDDLE_TOKEN"), help="bearer token (default: HEDDLE_TOKEN)")
    parser.add_argument("--ca-file", help="certificate to trust, PEM; also turns TLS on")
    parser.add_argument("--die", action="store_true", help="end without a word in the middle of the last tool")
    return parser.parse_args()


if __name__ == "__main__":
    main()
