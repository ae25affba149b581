// Which of the screens are shown, and for how long: as it was, but without what is too short to be seen, and without long waits.
const shortestMs = 350;
const longestMs = 2_200;
/** Somebody wants to read the end. */
const lastMs = 8_000;

export function chosenFrames(screens) {
  const frames = [];
  for (const [index, { ms, rows }] of screens.entries()) {
    const shownMs = (screens[index + 1]?.ms ?? Number.POSITIVE_INFINITY) - ms;
    const last = frames.at(-1);
    const isSame = last && JSON.stringify(last.rows) === JSON.stringify(rows);
    if (isSame) last.ms += shownMs;
    else if (last && last.ms < shortestMs) Object.assign(last, { rows, ms: last.ms + shownMs });
    else frames.push({ rows, ms: shownMs });
  }
  return frames.map(({ rows, ms }) => ({
    rows,
    ms: ms === Number.POSITIVE_INFINITY ? lastMs : Math.min(ms, longestMs),
  }));
}
