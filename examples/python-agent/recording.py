"""A producer's hold on a thread: a lease that is kept, and batches that are stored exactly once."""
import base64
import threading
import time

import grpc

SERVICE = "heddle.v1.RecorderService"

# A server that is restarted is back within this time; a batch that was stored before is not stored twice.
RETRY_SECONDS = 30


class Recording:
    def __init__(self, heddle, thread_id, producer, lease_seconds):
        self._heddle = heddle
        request = {"threadId": thread_id, "producer": producer, "leaseDuration": f"{lease_seconds}s"}
        opened = heddle.call(f"{SERVICE}/OpenRecording", request)
        # Sent with every batch. Whoever takes the thread over gets a higher epoch, and our late batches are refused.
        self._hold = {"threadId": thread_id, "recordingId": opened.recording_id, "epoch": str(opened.epoch)}
        self._sequence = 0
        self._closed = threading.Event()
        self._keeper = threading.Thread(target=self._keep, args=(lease_seconds / 3,), daemon=True)
        self._keeper.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._closed.set()
        self._keeper.join()
        self._heddle.call(f"{SERVICE}/CloseRecording", self._hold)

    def record(self, events, contents=()):
        """Stores a batch, whole or not at all. When it returns, the events are on disk and every watcher gets them."""
        self._sequence += 1
        batch = {**self._hold, "producerSequence": str(self._sequence), "events": events, "contents": list(contents)}
        give_up = time.monotonic() + RETRY_SECONDS
        while True:
            try:
                return self._heddle.call(f"{SERVICE}/RecordEvents", batch)
            except grpc.RpcError as error:
                # The same producer sequence again: had the batch been stored, it is answered as it was then.
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > give_up:
                    raise
                time.sleep(0.2)

    def _keep(self, every_seconds):
        """A tool may be quiet for longer than the lease: an empty batch says that we are still here."""
        while not self._closed.wait(every_seconds):
            try:
                self._heddle.call(f"{SERVICE}/RecordEvents", self._hold)
            except grpc.RpcError:
                pass  # The next batch meets the same trouble, and says so.


def body(call, name, text):
    """The full input or result of a call, which events only summarise."""
    role = {"input": "CONTENT_ROLE_INPUT", "result": "CONTENT_ROLE_RESULT"}[name]
    data = base64.b64encode(text.encode()).decode()
    return {**call, "contentId": name, "role": role, "mediaType": "application/json", "data": data}
