// What the documents that agents search are ranked by. A key comes from a variable, stands in no file and in no message.
import { isBaseUrl, section, text, variableName } from "./rules.js";
import type { Environment, Layer, Problem } from "./sources.js";

export interface DocumentsConfig {
  /** An endpoint of the OpenAI kind that turns texts into vectors. Undefined: passages are ranked by their words alone. */
  readonly embeddings: EmbeddingsConfig | undefined;
}

export interface EmbeddingsConfig {
  /** Such as `https://api.openai.com/v1`: `/embeddings` is added. */
  readonly url: string;
  readonly model: string;
  /** Secret. Undefined: the endpoint asks for none. */
  readonly key: string | undefined;
}

export const defaultDocuments: DocumentsConfig = { embeddings: undefined };

export const documentsSchema = section({
  embeddings: section({
    url: text("a URL").optional(),
    model: text("the name of a model").optional(),
    keyEnv: variableName.optional(),
  }).optional(),
});

export function documentsOf(layers: readonly Layer[], env: Environment, problems: Problem[]): DocumentsConfig {
  const layer = layers.findLast(({ values }) => values.documents?.embeddings !== undefined);
  const given = layer?.values.documents?.embeddings;
  if (!layer || !given) return defaultDocuments;
  const report = (key: string, rule: string): void => {
    const place = layer.name(["documents", "embeddings", key]);
    problems.push({ field: `documents.embeddings.${key}`, text: `${place} ${rule}` });
  };
  const { url = "", model = "", keyEnv } = given;
  // What stands there may hold a password, and is not shown.
  if (!isBaseUrl(url))
    report(
      "url",
      "must be an http or https URL without name, password, query or fragment, such as http://127.0.0.1:11434/v1",
    );
  if (model === "") report("model", "must be set: the name of an embeddings model");
  const key = keyEnv === undefined ? undefined : env[keyEnv] || undefined;
  if (keyEnv !== undefined && (key === undefined || !/^[\x21-\x7e]+$/.test(key)))
    report("keyEnv", `leads to ${keyEnv}, which must be set to printable ASCII without spaces`);
  return { embeddings: { url, model, key } };
}
