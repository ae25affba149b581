// Messages of the API as JSON Schema, in the JSON that protobuf prescribes. Contract: reads descriptors, knows no message by name but
// those that protobuf itself writes in another way.
import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";

export type Schema = Readonly<Record<string, unknown>>;

const wellKnown: Readonly<Record<string, Schema>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": { type: "string", pattern: "^-?\\d+(\\.\\d{1,9})?s$" },
  "google.protobuf.Struct": { type: "object" },
  "google.protobuf.Value": {},
  "google.protobuf.Empty": { type: "object", additionalProperties: false },
};

/** 64 bits do not fit into a number of JSON. */
const long = { type: "string", pattern: "^-?\\d+$" };
const whole = { type: "integer" };
const real = { anyOf: [{ type: "number" }, { enum: ["NaN", "Infinity", "-Infinity"] }] };

const scalars: Readonly<Record<ScalarType, Schema>> = {
  [ScalarType.DOUBLE]: real,
  [ScalarType.FLOAT]: real,
  [ScalarType.INT64]: long,
  [ScalarType.UINT64]: long,
  [ScalarType.FIXED64]: long,
  [ScalarType.SFIXED64]: long,
  [ScalarType.SINT64]: long,
  [ScalarType.INT32]: whole,
  [ScalarType.SINT32]: whole,
  [ScalarType.SFIXED32]: whole,
  [ScalarType.UINT32]: { ...whole, minimum: 0 },
  [ScalarType.FIXED32]: { ...whole, minimum: 0 },
  [ScalarType.BOOL]: { type: "boolean" },
  [ScalarType.STRING]: { type: "string" },
  [ScalarType.BYTES]: { type: "string", contentEncoding: "base64" },
};

/** Collects what it comes by, each once. */
export class ProtoSchemas {
  readonly #comments: Readonly<Record<string, string>>;
  readonly schemas: Record<string, Schema> = {};

  constructor(comments: Readonly<Record<string, string>>) {
    this.#comments = comments;
  }

  describe(name: string): { description?: string } {
    const description = this.#comments[name];
    return description === undefined ? {} : { description };
  }

  /** A reference to the message, which is there from now on. */
  message(message: DescMessage): Schema {
    const { typeName } = message;
    const known = wellKnown[typeName];
    if (known) return known;
    if (!(typeName in this.schemas)) {
      this.schemas[typeName] = {}; // Before its fields: a message may hold itself.
      const properties = Object.fromEntries(message.fields.map((field) => [field.jsonName, this.#field(field)]));
      this.schemas[typeName] = {
        type: "object",
        ...this.describe(typeName),
        properties,
        additionalProperties: false,
      };
    }
    return reference(typeName);
  }

  #field(field: DescField): Schema {
    const description = this.describe(`${field.parent.typeName}.${field.name}`);
    switch (field.fieldKind) {
      case "scalar":
        return { ...scalars[field.scalar], ...description };
      case "enum":
        return { ...this.#enum(field.enum), ...description };
      case "message":
        return { ...this.message(field.message), ...description };
      case "list":
        return { type: "array", items: this.#element(field), ...description };
      case "map":
        return { type: "object", additionalProperties: this.#element(field), ...description };
    }
  }

  #element(field: Extract<DescField, { fieldKind: "list" | "map" }>): Schema {
    const kind = field.fieldKind === "list" ? field.listKind : field.mapKind;
    if (kind === "message") return this.message(field.message as DescMessage);
    return kind === "enum" ? this.#enum(field.enum as DescEnum) : scalars[field.scalar as ScalarType];
  }

  #enum({ typeName, values }: DescEnum): Schema {
    this.schemas[typeName] ??= { type: "string", ...this.describe(typeName), enum: values.map(({ name }) => name) };
    return reference(typeName);
  }
}

export const reference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
