// The grammar of a JSON number, a unit at a time: each state says what each class of units makes of it.

export type NumberState = "minus" | "zero" | "whole" | "point" | "fraction" | "e" | "sign" | "exponent";
type NumberUnit = "zero" | "digit" | "minus" | "plus" | "point" | "e" | "other";

/** What a unit makes of a number: the next state, its end (the unit belongs to what follows), or no number at all. */
export function nextNumberState(state: NumberState, unit: number): NumberState | "over" | "broken" {
  return table[state][classOf(unit)];
}

/** The state after the first unit of a number; undefined for a unit that begins none. */
export function firstNumberState(unit: number): NumberState | undefined {
  return beginnings[classOf(unit)];
}

const beginnings: Record<NumberUnit, NumberState | undefined> = {
  zero: "zero",
  digit: "whole",
  minus: "minus",
  plus: undefined,
  point: undefined,
  e: undefined,
  other: undefined,
};

const bad = { zero: "broken", digit: "broken", minus: "broken", plus: "broken", point: "broken", e: "broken" } as const;

const table: Record<NumberState, Record<NumberUnit, NumberState | "over" | "broken">> = {
  minus: { ...bad, zero: "zero", digit: "whole", other: "broken" },
  zero: { ...bad, point: "point", e: "e", other: "over" },
  whole: { ...bad, zero: "whole", digit: "whole", point: "point", e: "e", other: "over" },
  point: { ...bad, zero: "fraction", digit: "fraction", other: "broken" },
  fraction: { ...bad, zero: "fraction", digit: "fraction", e: "e", other: "over" },
  e: { ...bad, zero: "exponent", digit: "exponent", minus: "sign", plus: "sign", other: "broken" },
  sign: { ...bad, zero: "exponent", digit: "exponent", other: "broken" },
  exponent: { ...bad, zero: "exponent", digit: "exponent", other: "over" },
};

function classOf(unit: number): NumberUnit {
  switch (unit) {
    case 0x30:
      return "zero";
    case 0x2b:
      return "plus";
    case 0x2d:
      return "minus";
    case 0x2e:
      return "point";
    case 0x45:
    case 0x65:
      return "e";
    default:
      return unit > 0x30 && unit <= 0x39 ? "digit" : "other";
  }
}
