// Every RPC as an HTTP request: Connect's JSON.
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type ProtoSchemas, reference, type Schema } from "./proto-schema.js";

const envelope =
  "Each message, in either direction, has 5 bytes before it: flags, and its length in 4 bytes with the highest first. The last " +
  'one of an answer has the flag 2, and is `{}` or `{"error": …}`.';

export function rpcPaths(services: readonly DescService[], schemas: ProtoSchemas): Record<string, Schema> {
  return Object.fromEntries(
    services.flatMap((service) =>
      service.methods.map((method) => [`/${service.typeName}/${method.name}`, { post: operation(method, schemas) }]),
    ),
  );
}

function operation(method: DescMethod, schemas: ProtoSchemas): Schema {
  const isUnary = method.methodKind === "unary";
  const { description = "" } = schemas.describe(`${method.parent.typeName}.${method.name}`);
  const content = (schema: Schema): Schema => ({
    [isUnary ? "application/json" : "application/connect+json"]: { schema },
  });
  return {
    operationId: `${method.parent.typeName}.${method.name}`,
    tags: [method.parent.typeName],
    description: isUnary ? description : `${description}${description && "\n\n"}${envelope}`,
    requestBody: { required: true, content: content(schemas.message(method.input)) },
    responses: {
      "200": {
        description: isUnary ? "The answer." : "The answers.",
        content: content(schemas.message(method.output)),
      },
      default: {
        description: "Refused, or failed.",
        content: { "application/json": { schema: reference("ConnectError") } },
      },
    },
  };
}

/** What Connect says of an error. */
export const connectError: Schema = {
  type: "object",
  description: "An error as Connect has it. Programs read the details: the message is for people and may change.",
  properties: {
    code: { type: "string", description: "The status in lower case, such as `invalid_argument`." },
    message: { type: "string" },
    details: {
      type: "array",
      description: "The first is a google.rpc.ErrorInfo with the reason, the second the reason's own message.",
      items: {
        type: "object",
        properties: {
          type: { type: "string", description: "The full name of the message." },
          value: { type: "string", contentEncoding: "base64" },
          debug: {},
        },
        required: ["type", "value"],
        additionalProperties: false,
      },
    },
  },
  required: ["code"],
  additionalProperties: false,
};
