"""Prints a thread's frames as proto3 JSON, one a line, then one line that says how the stream ended.

The request, as JSON, is the only argument. Leaves when its standard input is closed.
"""
import base64
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples/python-agent"))

import grpc  # noqa: E402
from google.protobuf import json_format  # noqa: E402
from heddle_client import Heddle  # noqa: E402


def main():
    order = json.loads(sys.argv[1])
    heddle = Heddle(order["address"], token=order.get("token"), ca_file=order.get("caFile"))
    try:
        # Headers of the call stand instead of those of the connection.
        headers = {"metadata": list(order["headers"].items())} if order["headers"] else {}
        stream = heddle.stream("heddle.v1.ThreadService/StreamThreadEvents", order["request"], timeout=order.get("timeout"), **headers)
        threading.Thread(target=lambda: (sys.stdin.read(), stream.cancel()), daemon=True).start()
        for frame in stream:
            say({"frame": json_format.MessageToDict(frame)})
        say({"code": 0})
    except grpc.RpcError as error:
        details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
        say({
            "code": error.code().value[0],
            "message": error.details(),
            "details": details and base64.b64encode(details).decode(),
        })


def say(line):
    print(json.dumps(line), flush=True)


main()
