// What stands behind the question mark. What is wrong there is refused by name, like any other parameter.
import type { Exchange } from "../../server/exchange.js";
import { wrong } from "./errors.js";

export class Query {
  readonly #values: URLSearchParams;

  constructor({ query }: Pick<Exchange, "query">) {
    this.#values = new URLSearchParams(query);
  }

  text(name: string): string | undefined {
    return this.#values.get(name) ?? undefined;
  }

  oneOf<Value extends string>(name: string, values: readonly [Value, ...Value[]]): Value | undefined {
    const said = this.text(name);
    const value = values.find((known) => known === said);
    if (said !== undefined && value === undefined)
      throw invalid(name, `must be ${values.map((known) => `'${known}'`).join(" or ")}`);
    return value;
  }

  wholeNumber(name: string, { min, max }: { readonly min: number; readonly max: number }): number | undefined {
    const said = this.text(name);
    if (said === undefined) return undefined;
    const value = /^\d{1,16}$/.test(said) ? Number(said) : Number.NaN;
    if (value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw invalid(name, `must be a whole number ${range}`);
  }
}

const invalid = (name: string, rule: string) => wrong(name, `Invalid value for '${name}': ${rule}.`, "invalid_value");
