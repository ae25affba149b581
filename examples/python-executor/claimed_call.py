"""A call that this executor has claimed: its input, what it reports, and its one end."""
import base64
import json
import secrets
import threading
import time

import grpc

SERVICE = "heddle.v1.ToolCallService"

# A server that is restarted is back within this time.
RETRY_SECONDS = 30

INLINE_BYTES = 1024 * 1024


def claim(heddle, call_id, executor_name, lease_seconds):
    """The call, or None where somebody else has it. The token is ours: a claim whose answer was lost can be made again."""
    token = secrets.token_urlsafe(24)
    request = {
        "toolCallId": call_id,
        "executorName": executor_name,
        "claimToken": token,
        "leaseDuration": f"{lease_seconds}s",
    }
    try:
        insist(heddle, "ClaimToolCall", request)
    except grpc.RpcError as error:
        if error.code() in (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND):
            return None
        raise
    return ClaimedCall(heddle, call_id, token, lease_seconds)


class ClaimedCall:
    def __init__(self, heddle, call_id, token, lease_seconds):
        self._heddle = heddle
        self._id = call_id
        self._token = token
        self._sequence = 0
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, args=(lease_seconds / 3,), daemon=True)

    def __enter__(self):
        self._keeper.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._keeper.join()

    def read_input(self):
        """The whole input, of any size: what is small comes along, the rest comes in pieces."""
        answer = insist(self._heddle, "GetToolCall", {"toolCallId": self._id})
        for content in answer.contents:
            if content.info.content_id == "input":
                return content.data.decode()
        pieces = self._heddle.stream(f"{SERVICE}/ReadToolCallContent", {"toolCallId": self._id, "contentId": "input"})
        return b"".join(piece.data for piece in pieces).decode()

    def report(self, text="", **progress):
        """Output and progress. The number makes a report whose answer was lost safe to send again."""
        self._sequence += 1
        outputs = [{"stream": "OUTPUT_STREAM_STDOUT", "text": text}] if text else []
        self._send("ReportToolCall", outputs=outputs, progress=progress, reportSequence=str(self._sequence))

    def complete(self, summary, result):
        """The end, with a result of any size."""
        self._end({"outcome": "TOOL_CALL_OUTCOME_SUCCEEDED", "summary": summary}, json.dumps(result).encode())

    def fail(self, message):
        error = {"kind": "tool_error", "message": message}
        self._end({"outcome": "TOOL_CALL_OUTCOME_FAILED", "summary": message, "error": error}, b"")

    def _end(self, complete, result):
        inline = {"result": encoded(result)} if 0 < len(result) <= INLINE_BYTES else {}
        if len(result) > INLINE_BYTES:
            self._write(result)
        insist(
            self._heddle,
            "CompleteToolCall",
            {"claimToken": self._token, "complete": {"toolCallId": self._id, **complete}, **inline},
        )

    def _write(self, data):
        for offset in range(0, len(data), INLINE_BYTES):
            chunk = {
                "toolCallId": self._id,
                "contentId": "result",
                "role": "CONTENT_ROLE_RESULT",
                "mediaType": "application/json",
                "offset": str(offset),
                "data": encoded(data[offset : offset + INLINE_BYTES]),
            }
            insist(self._heddle, "WriteToolCallContent", {"claimToken": self._token, "chunk": chunk})

    def _send(self, method, **fields):
        return insist(self._heddle, method, {"toolCallId": self._id, "claimToken": self._token, **fields})

    def _keep(self, every_seconds):
        """A tool may be quiet for longer than the lease: an empty report says that we are still here."""
        while not self._over.wait(every_seconds):
            try:
                self._send("ReportToolCall")
            except grpc.RpcError:
                pass  # The next report meets the same trouble, and says so.


def insist(heddle, method, request):
    """Makes a request that may be made twice, until the server has answered it."""
    give_up = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return heddle.call(f"{SERVICE}/{method}", request)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > give_up:
                raise
            time.sleep(0.2)


def encoded(data):
    return base64.b64encode(data).decode()
