// The whole HTTP surface as an OpenAPI 3.1 document, built from what the code itself uses: the shapes of the Responses API, the
// descriptors of the RPCs, and the comments of their schema.
import type { DescService } from "@bufbuild/protobuf";
import { comments } from "../../../gen/heddle/comments.js";
import { DocumentService } from "../../../gen/heddle/v1/document_service_pb.js";
import { RecorderService } from "../../../gen/heddle/v1/recorder_service_pb.js";
import { ThreadService } from "../../../gen/heddle/v1/thread_service_pb.js";
import { ToolCallService } from "../../../gen/heddle/v1/tool_call_service_pb.js";
import { ToolService } from "../../../gen/heddle/v1/tool_service_pb.js";
import { ProtoSchemas, reference, type Schema } from "./proto-schema.js";
import { responsePaths, responseSchemas } from "./response-paths.js";
import { connectError, rpcPaths } from "./rpc-paths.js";

export const describedServices: readonly DescService[] = [
  ThreadService,
  ToolCallService,
  RecorderService,
  ToolService,
  DocumentService,
];

/** What a server can be without. */
export interface Surface {
  /** It speaks the Responses API. */
  readonly hasResponses: boolean;
}

export function openApiDocument({ hasResponses }: Surface = { hasResponses: true }): Schema {
  const messages = new ProtoSchemas(comments);
  const rpcs = rpcPaths(describedServices, messages);
  return {
    openapi: "3.1.0",
    info: {
      title: "Heddle",
      version: "1",
      description: `Tool calls of agents, live: ${hasResponses ? "the Responses API, and " : ""}every RPC of heddle.v1 as Connect's JSON.`,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    security: [{ bearer: [] }, {}],
    tags: [
      ...(hasResponses ? [{ name: "Responses", description: "OpenAI's Responses API over threads." }] : []),
      { name: "Server", description: "The server itself." },
      ...describedServices.map(({ typeName }) => ({ name: typeName, ...messages.describe(typeName) })),
    ],
    paths: { ...(hasResponses && responsePaths), ...serverPaths, ...rpcs },
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: {
        ...(hasResponses && responseSchemas()),
        ...sorted(messages.schemas),
        ConnectError: connectError,
        Status: status,
      },
    },
  };
}

/** As it is served; the one of a server that has everything is kept in docs/. */
export const openApiText = (surface?: Surface): string => `${JSON.stringify(openApiDocument(surface), null, 2)}\n`;

const serverPaths: Readonly<Record<string, Schema>> = {
  "/healthz": {
    get: {
      operationId: "healthz",
      tags: ["Server"],
      description: "Whether the server takes requests. Asks for no token.",
      security: [],
      responses: { "200": { description: "It does." }, "503": { description: "It is closing." } },
    },
  },
  "/statusz": {
    get: {
      operationId: "statusz",
      tags: ["Server"],
      description: "What the server has open, for operators.",
      responses: {
        "200": { description: "Numbers.", content: { "application/json": { schema: reference("Status") } } },
      },
    },
  },
  "/openapi.json": {
    get: {
      operationId: "openapi",
      tags: ["Server"],
      description: "This document.",
      responses: { "200": { description: "It.", content: { "application/json": { schema: { type: "object" } } } } },
    },
  },
};

const status: Schema = { type: "object", additionalProperties: { type: "integer", minimum: 0 } };

const sorted = (schemas: Readonly<Record<string, Schema>>): Record<string, Schema> =>
  Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)));
