// What values of the configuration look like. Messages are the part after "must be": `must be ${rule}, not ${value}`.
import { z } from "zod";

export const text = (rule: string) => z.string(rule).regex(/\S/, rule);

export const whole = (min: number, max: number) => {
  const rule = `a whole number from ${min} to ${max}`;
  return z.number(rule).int(rule).min(min, rule).max(max, rule);
};

export const variableName = z
  .string("the name of a variable")
  .regex(/^[A-Za-z_]\w*$/, "the name of an environment variable");

export const section = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, { error: "an object" });

/** An address to which paths are added: what else a URL may hold would get lost, or is secret. */
export function isBaseUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === "");
}
