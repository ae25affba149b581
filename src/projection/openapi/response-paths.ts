// The Responses API as paths of the document. Its shapes are those that the code checks requests with, and that tests check answers with.
import { z } from "zod";
import { eventShapes } from "../responses/event-shape.js";
import { requestShape } from "../responses/request-shape.js";
import { answerShapes } from "../responses/wire-shape.js";
import { reference, type Schema } from "./proto-schema.js";

/** Of an event: `ResponseOutputTextDeltaEvent`. */
export const eventName = (type: string): string =>
  `${type.replace(/(^|[._])([a-z])/g, (_, __, letter: string) => letter.toUpperCase())}Event`;

export function responseSchemas(): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  registry.add(requestShape, { id: "CreateResponse" });
  for (const [id, shape] of Object.entries(answerShapes)) registry.add(shape, { id });
  for (const [type, shape] of Object.entries(eventShapes)) registry.add(shape, { id: eventName(type) });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}`, io: "input" });
  const clean = Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema as Schema]);
  const types = Object.keys(eventShapes);
  const mapping = Object.fromEntries(types.map((type) => [type, reference(eventName(type))["$ref"]]));
  return {
    ...Object.fromEntries(clean),
    ResponseEvent: {
      description: "One event of a stream: the JSON behind `data:`. Numbers begin at 0 and have no gaps.",
      oneOf: types.map((type) => reference(eventName(type))),
      discriminator: { propertyName: "type", mapping },
    },
  };
}

const json = (schema: string, description: string): Schema => ({
  description,
  content: { "application/json": { schema: reference(schema) } },
});

const refused = { default: json("ApiError", "Refused, or failed.") };
const id = { name: "id", in: "path", required: true, schema: { type: "string", pattern: "^resp_[0-9a-f]{48}$" } };
const query = (name: string, schema: Schema, description: string): Schema => ({
  name,
  in: "query",
  schema,
  description,
});

const responseOrEvents: Schema = {
  description: "The response. As a stream: its events, each in one write, then `data: [DONE]`. Comments keep it alive.",
  content: {
    "application/json": { schema: reference("Response") },
    "text/event-stream": { schema: reference("ResponseEvent") },
  },
};

const operation = (operationId: string, description: string, more: Schema): Schema => ({
  operationId,
  tags: ["Responses"],
  description,
  ...more,
});

export const responsePaths: Readonly<Record<string, Schema>> = {
  "/v1/responses": {
    post: operation("createResponse", "Starts a run, or goes on with one, and answers with what it says and does.", {
      requestBody: { required: true, content: { "application/json": { schema: reference("CreateResponse") } } },
      responses: { "200": responseOrEvents, ...refused },
    }),
  },
  "/v1/responses/{id}": {
    parameters: [id],
    get: operation("getResponse", "The response as it stands, or its events.", {
      parameters: [
        query("stream", { type: "boolean" }, "Its events instead, those that are to come too."),
        query("starting_after", { type: "integer", minimum: 0 }, "Only events with a higher number."),
      ],
      responses: { "200": responseOrEvents, ...refused },
    }),
    delete: operation("deleteResponse", "Calls it off where it goes on. With its last response a thread goes too.", {
      responses: { "200": json("ResponseDeleted", "Nobody sees it any more."), ...refused },
    }),
  },
  "/v1/responses/{id}/cancel": {
    parameters: [id],
    post: operation("cancelResponse", "Calls off a response that was made in the background.", {
      responses: { "200": json("Response", "As it ended."), ...refused },
    }),
  },
  "/v1/responses/{id}/input_items": {
    parameters: [id],
    get: operation("listInputItems", "What the request said.", {
      parameters: [
        query("limit", { type: "integer", minimum: 1, maximum: 100, default: 20 }, "How many."),
        query("order", { enum: ["asc", "desc"], default: "desc" }, "From the first, or from the last."),
        query("after", { type: "string" }, "Behind the item with this id."),
      ],
      responses: { "200": json("InputItems", "Items of the input."), ...refused },
    }),
  },
  "/v1/models": {
    get: operation("listModels", "The models that can be asked.", {
      responses: { "200": json("Models", "All of them."), ...refused },
    }),
  },
  "/v1/models/{model}": {
    parameters: [{ name: "model", in: "path", required: true, schema: { type: "string" } }],
    get: operation("getModel", "One model.", { responses: { "200": json("Model", "It is offered."), ...refused } }),
  },
};
