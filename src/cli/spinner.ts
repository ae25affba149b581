// A sign that something is under way: it turns with the clock, so that all of them turn together.

const frames = ["◐", "◓", "◑", "◒"] as const;

/** How long one frame stays. */
export const spinnerMs = 120;

export const spinnerAt = (nowMs: number): string => frames[Math.floor(nowMs / spinnerMs) % frames.length]!;
