import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { create, createFileRegistry, type DescService, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import {
  type ServerReflectionRequestSchema,
  ServerReflection as V1,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as V1Alpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { ThreadService } from "../../../gen/heddle/v1/thread_service_pb.js";
import { registerReflection } from "../../../src/projection/connect/reflection.js";
import type { RequestHandler } from "../../../src/server/options.js";
import { startTestServer } from "../../server/support.js";

const services = [ThreadService, extended()];
const allNames = [
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
  "heddle.v1.ThreadService",
  "test.Extended",
];

type Query = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;

const start = () =>
  startTestServer({
    fallback: connectNodeAdapter({ routes: (router) => registerReflection(router, services) }) as RequestHandler,
  });

describe.each([
  ["v1", V1],
  ["v1alpha", V1Alpha],
])("reflection %s", (_name, version) => {
  const client = (url: string) => createClient(version as typeof V1, createGrpcTransport({ baseUrl: url }));

  async function ask(...queries: Query[]) {
    await using server = await start();
    async function* all() {
      for (const messageRequest of queries) yield { host: "here", messageRequest };
    }
    const answers = [];
    for await (const answer of client(server.url).serverReflectionInfo(all())) answers.push(answer);
    return answers;
  }

  /** The names of the files of an answer, in order. */
  const fileNames = (answer: Awaited<ReturnType<typeof ask>>[number]): string[] | undefined =>
    answer.messageResponse.case === "fileDescriptorResponse"
      ? answer.messageResponse.value.fileDescriptorProto.map(
          (bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name,
        )
      : undefined;

  test("lists the services, its own and health among them, and echoes the request", async () => {
    const [answer] = await ask({ case: "listServices", value: "*" });
    expect(answer?.messageResponse).toMatchObject({ value: { service: allNames.map((name) => ({ name })) } });
    expect(answer).toMatchObject({
      validHost: "here",
      originalRequest: { messageRequest: { case: "listServices", value: "*" } },
    });
  });

  test("a file comes first, and with everything it imports, in an order that can be linked from the end", async () => {
    const [byName] = await ask({ case: "fileByFilename", value: "heddle/v1/thread_service.proto" });
    const names = fileNames(byName!)!;
    expect(names[0]).toBe("heddle/v1/thread_service.proto");
    expect(names).toContain("heddle/v1/event.proto");
    expect(names).toContain("google/protobuf/timestamp.proto");
    expect(new Set(names).size).toBe(names.length);

    const { value } = byName!.messageResponse as { value: { fileDescriptorProto: Uint8Array[] } };
    const file = value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: file.reverse() }));
    expect(registry.getService("heddle.v1.ThreadService")?.methods.length).toBe(ThreadService.methods.length);
  });

  test.each([
    ["a service", "heddle.v1.ThreadService", "heddle/v1/thread_service.proto"],
    ["a method", "heddle.v1.ThreadService.StreamThreadEvents", "heddle/v1/thread_service.proto"],
    ["a message", "heddle.v1.StreamThreadEventsResponse", "heddle/v1/event.proto"],
    ["a field", "heddle.v1.StreamThreadEventsResponse.sequence", "heddle/v1/event.proto"],
    ["a nested enum", "grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto"],
    ["an enum value", "grpc.health.v1.HealthCheckResponse.SERVING", "grpc/health/v1/health.proto"],
    ["an extension", "test.colour", "test/extended.proto"],
    ["a type of an import alone", "google.protobuf.Timestamp", "google/protobuf/timestamp.proto"],
  ])("finds the file of %s", async (_kind, value, file) => {
    const [answer] = await ask({ case: "fileContainingSymbol", value });
    expect(fileNames(answer!)?.[0]).toBe(file);
  });

  test("finds extensions, and the numbers of a type that has some or none", async () => {
    const answers = await ask(
      {
        case: "fileContainingExtension",
        value: { containingType: "test.Thing", extensionNumber: 101 },
      },
      { case: "allExtensionNumbersOfType", value: "test.Thing" },
      { case: "allExtensionNumbersOfType", value: "heddle.v1.StreamThreadEventsResponse" },
    );
    expect(fileNames(answers[0]!)?.[0]).toBe("test/extended.proto");
    expect(answers[1]?.messageResponse.value).toMatchObject({
      baseTypeName: "test.Thing",
      extensionNumber: [100, 101],
    });
    expect(answers[2]?.messageResponse.value).toMatchObject({ extensionNumber: [] });
  });

  test("what is not there is an error of that query, and the stream goes on", async () => {
    const answers = await ask(
      { case: "fileByFilename", value: "nowhere.proto" },
      { case: "fileContainingSymbol", value: "no.Where" },
      {
        case: "fileContainingExtension",
        value: { containingType: "test.Thing", extensionNumber: 7 },
      },
      { case: "allExtensionNumbersOfType", value: "no.Where" },
      { case: undefined },
      { case: "listServices", value: "" },
    );
    const codes = answers.map(
      ({ messageResponse }) => messageResponse.case === "errorResponse" && messageResponse.value.errorCode,
    );
    expect(codes).toEqual([Code.NotFound, Code.NotFound, Code.NotFound, Code.NotFound, Code.InvalidArgument, false]);
  });
});

describe("buf curl, as a stranger", () => {
  const buf = (...args: string[]) =>
    promisify(execFile)(join(import.meta.dirname, "../../../node_modules/.bin/buf"), [
      "curl",
      "--http2-prior-knowledge",
      ...args,
    ]);

  test.each(["grpc-v1", "grpc-v1alpha"])("lists services and methods over %s", async (protocol) => {
    await using server = await start();
    const { stdout: list } = await buf("--reflect-protocol", protocol, "--list-services", server.url);
    expect(list.trim().split("\n").sort()).toEqual(allNames);
    const { stdout: methods } = await buf("--reflect-protocol", protocol, "--list-methods", server.url);
    expect(methods).toContain("heddle.v1.ThreadService/StreamThreadEvents");
  });

  test("needs the token like everything else", async () => {
    const fallback = connectNodeAdapter({ routes: (router) => registerReflection(router, services) }) as RequestHandler;
    await using server = await startTestServer({ fallback, tokens: [{ name: "me", token: "secret" }] });
    await expect(buf("--list-services", server.url)).rejects.toThrow();
    const header = ["--reflect-header", "authorization: Bearer secret"];
    expect((await buf(...header, "--list-services", server.url)).stdout).toContain("heddle.v1.ThreadService");
  });
});

/** A service whose file has a message with two extensions, one of them nested. */
function extended(): DescService {
  const extension = (name: string, number: number) => ({
    name,
    number,
    extendee: ".test.Thing",
    type: FieldDescriptorProto_Type.STRING,
    label: FieldDescriptorProto_Label.OPTIONAL,
  });
  const file = create(FileDescriptorProtoSchema, {
    name: "test/extended.proto",
    package: "test",
    syntax: "proto2",
    messageType: [
      { name: "Thing", extensionRange: [{ start: 100, end: 200 }] },
      { name: "Holder", extension: [extension("nested", 101)] },
    ],
    extension: [extension("colour", 100)],
    service: [{ name: "Extended", method: [{ name: "Get", inputType: ".test.Thing", outputType: ".test.Thing" }] }],
  });
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [file] })).getService("test.Extended")!;
}
