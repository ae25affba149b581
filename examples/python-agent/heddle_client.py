"""A client for Heddle without generated code: the server's reflection says what its messages look like.

Needs grpcio and protobuf (Debian and Ubuntu: python3-grpcio, python3-protobuf), and nothing else.

    heddle = Heddle("127.0.0.1:8787")
    heddle.call("heddle.v1.ThreadService/CreateThread", {"title": "first"})
    for frame in heddle.stream("heddle.v1.ThreadService/StreamThreadEvents", {"threadId": "..."}):
        print(frame.sequence)

Requests are dictionaries in proto3 JSON form (camelCase or snake_case, bytes as base64); answers are messages.
A program that is more than an example would use code that `buf generate` or `protoc` made from proto/heddle/v1.
"""
import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

REFLECTION = "grpc.reflection.v1"


class Heddle:
    """One connection to one server."""

    def __init__(self, address, token=None, ca_file=None):
        if ca_file:
            with open(ca_file, "rb") as file:
                self._channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(file.read()))
        else:
            self._channel = grpc.insecure_channel(address)
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        self._pool = descriptor_pool.DescriptorPool()
        self._methods = {}

    def call(self, method, request=None, **options):
        """Calls a unary method, `package.Service/Method`."""
        return self._prepared(method, self._channel.unary_unary)(self._filled(method, request), **self._with(options))

    def stream(self, method, request=None, **options):
        """Calls a server-streaming method: an iterator of messages that can be cancelled with `.cancel()`."""
        return self._prepared(method, self._channel.unary_stream)(self._filled(method, request), **self._with(options))

    def close(self):
        self._channel.close()

    def _with(self, options):
        return {"metadata": self._metadata, **options}

    def _prepared(self, method, kind):
        descriptor = self._method(method)
        return kind(
            f"/{method}",
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=message_class(descriptor.output_type).FromString,
        )

    def _filled(self, method, request):
        return json_format.ParseDict(request or {}, message_class(self._method(method).input_type)(), descriptor_pool=self._pool)

    def _method(self, name):
        if name not in self._methods:
            service, method = name.split("/")
            self._load(service)
            self._methods[name] = self._pool.FindServiceByName(service).methods_by_name[method]
        return self._methods[name]

    def _load(self, symbol):
        """Asks the server for the files that define a symbol, and puts them into the pool."""
        files = {}
        self._fetch({"file_containing_symbol": symbol}, files)
        for name in list(files):
            self._add(name, files)

    def _fetch(self, question, files):
        ask = self._channel.stream_stream(
            f"/{REFLECTION}.ServerReflection/ServerReflectionInfo",
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=ReflectionResponse.FromString,
        )
        answer = next(ask(iter([ReflectionRequest(**question)]), metadata=self._metadata))
        if answer.HasField("error_response"):
            raise LookupError(answer.error_response.error_message)
        for data in answer.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            files[file.name] = file
        for file in list(files.values()):
            for dependency in file.dependency:
                if dependency not in files:
                    self._fetch({"file_by_filename": dependency}, files)

    def _add(self, name, files):
        try:
            self._pool.FindFileByName(name)
        except KeyError:
            for dependency in files[name].dependency:
                self._add(dependency, files)
            self._pool.Add(files[name])


def message_class(descriptor):
    """The Python class of a message; its name in the library depends on the library's age."""
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return _factory.GetPrototype(descriptor)


_factory = None if hasattr(message_factory, "GetMessageClass") else message_factory.MessageFactory()


def _reflection_messages():
    """The few messages of the reflection service itself: the part that nobody can look up."""
    text, data, group = (getattr(descriptor_pb2.FieldDescriptorProto, name) for name in ("TYPE_STRING", "TYPE_BYTES", "TYPE_MESSAGE"))
    file = descriptor_pb2.FileDescriptorProto(name="reflection.proto", package=REFLECTION, syntax="proto3")

    def define(name, *fields):
        message = file.message_type.add(name=name)
        for field_name, number, kind, *rest in fields:
            label = 3 if "repeated" in rest else 1
            field = message.field.add(name=field_name, number=number, type=kind, label=label)
            if kind == group:
                field.type_name = f".{REFLECTION}.{rest[0]}"

    define("ServerReflectionRequest", ("file_by_filename", 3, text), ("file_containing_symbol", 4, text))
    define("FileDescriptorResponse", ("file_descriptor_proto", 1, data, "repeated"))
    define("ErrorResponse", ("error_message", 2, text))
    define("ServerReflectionResponse", ("file_descriptor_response", 4, group, "FileDescriptorResponse"), ("error_response", 7, group, "ErrorResponse"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [message_class(pool.FindMessageTypeByName(f"{REFLECTION}.ServerReflection{name}")) for name in ("Request", "Response")]


ReflectionRequest, ReflectionResponse = _reflection_messages()
