#!/usr/bin/env python3
"""An executor for Heddle in Python: it offers a tool of its own, and runs the calls that agents make of it.

The tool counts words in text files of a folder. Whatever the agent is and wherever it runs, the files are read here.
"""
import argparse
import json
import os
import sys
import threading
import time

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python-agent"))
from heddle_client import Heddle  # noqa: E402  (the client that the examples share)
from claimed_call import ClaimedCall, claim  # noqa: E402

TOOL = {
    "name": "count_words",
    "title": "Count words",
    "description": "Counts the words of each text file in the user's folder, and how often one word is among them.",
    "kind": "TOOL_KIND_READ",
    "inputSchemaJson": json.dumps(
        {
            "type": "object",
            "properties": {"word": {"type": "string", "description": "The word to look for"}},
            "required": ["word"],
            "additionalProperties": False,
        }
    ),
    # What people read before it runs; the braces are filled in by the server.
    "summaryTemplate": "Counting the word {word}",
}


def main():
    options = arguments()
    heddle = Heddle(options.server, token=options.token, ca_file=options.ca_file)
    offered = threading.Event()
    threading.Thread(target=offer, args=(heddle, options, offered), daemon=True).start()
    offered.wait()
    print("offered", flush=True)
    serve(heddle, options)


def offer(heddle, options, offered):
    """The tool is there for as long as this stream is open. A server that goes away is waited for."""
    request = {"threadId": options.thread, "executorName": options.name, "tools": [TOOL]}
    while True:
        try:
            for frame in heddle.stream("heddle.v1.ToolService/OfferTools", request):
                if frame.WhichOneof("payload") == "ready":
                    offered.set()
        except grpc.RpcError as error:
            if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.CANCELLED):
                print(error.details(), file=sys.stderr, flush=True)
                os._exit(1)
        time.sleep(1)


def serve(heddle, options):
    """One stream for all threads: those in which a call waits are looked at."""
    while True:
        try:
            for frame in heddle.stream("heddle.v1.ThreadService/WatchThreads", {"busyOnly": True}):
                thread = frame.thread if frame.WhichOneof("payload") == "thread" else None
                if thread and thread.offered_tool_calls and options.thread in ("", thread.id):
                    take_calls(heddle, options, thread.id)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
        time.sleep(1)


def take_calls(heddle, options, thread_id):
    waiting = heddle.call("heddle.v1.ToolCallService/ListOfferedToolCalls", {"threadId": thread_id}).tool_calls
    for call in waiting:
        if call.tool_name != TOOL["name"]:
            continue
        claimed = claim(heddle, call.id, executor_name=options.name, lease_seconds=options.lease)
        if claimed:  # Otherwise another executor was faster.
            run_call(claimed, options.folder, die=options.die)


def run_call(claimed: ClaimedCall, folder, die):
    with claimed:
        try:
            given = json.loads(claimed.read_input())
            counts = {}
            names = sorted(name for name in os.listdir(folder) if name.endswith((".txt", ".md")))
            for done, name in enumerate(names, start=1):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    words = file.read().split()
                counts[name] = {"words": len(words), "found": words.count(given["word"])}
                claimed.report(text=f"{name}: {len(words)} words\n", completed=done, total=len(names))
                if die:
                    os._exit(1)  # No goodbye: the server finds out when the lease ends.
            found = sum(count["found"] for count in counts.values())
            claimed.complete(f"Found {given['word']} {found} times in {len(names)} files", {"files": counts, "found": found})
        except (OSError, ValueError) as error:  # The tool's own trouble; the call still gets its end.
            claimed.fail(f"{type(error).__name__}: {error}")


def arguments():
    parser = argparse.ArgumentParser(description="Runs a tool for the agents of a Heddle server.")
    parser.add_argument("folder", nargs="?", default=".", help="the folder whose files are read (default: the current one)")
    parser.add_argument("--server", default="127.0.0.1:8787", help="host:port of the server (default: %(default)s)")
    parser.add_argument("--thread", default="", help="serve this thread alone, a UUID (default: all of them)")
    parser.add_argument("--name", default="python-executor", help="what it calls itself (default: %(default)s)")
    parser.add_argument("--lease", type=float, default=30, help="seconds of silence after which a call is given up (default: %(default)s)")
    parser.add_argument("--token", default=os.environ.get("HEDDLE_TOKEN"), help="bearer token (default: HEDDLE_TOKEN)")
    parser.add_argument("--ca-file", help="certificate to trust, PEM; also turns TLS on")
    parser.add_argument("--die", action="store_true", help="end without a word in the middle of the first call")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
