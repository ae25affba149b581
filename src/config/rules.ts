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
