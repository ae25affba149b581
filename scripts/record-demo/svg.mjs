// Draws frames as an animated picture of a terminal window. The frames lie below each other like a film, and the film is moved on
// in steps; where nothing moves, its last frame is seen. A row that is in several frames is drawn once.
const cell = { width: 8.4, height: 18 };
const padding = 14;
const titleHeight = 34;
const fontSize = 14;

export function drawSvg(frames, { columns, rows }, title) {
  const inner = { width: columns * cell.width, height: rows * cell.height };
  const width = Math.ceil(inner.width + 2 * padding);
  const height = titleHeight + inner.height + padding;
  const { definitions, film } = drawFilm(frames, inner.height);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(title)}</title>
<style>${styleSheet(frames, inner.height)}</style>
<defs>
${definitions.join("\n")}
</defs>
<rect class="window" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="9"/>
${["#ff5f57", "#febc2e", "#28c840"].map((fill, index) => `<circle cx="${20 + index * 20}" cy="18" r="6" fill="${fill}"/>`).join("")}
<svg x="${padding}" y="${titleHeight}" width="${inner.width}" height="${inner.height}" overflow="hidden">
<g class="film">
${film.join("\n")}
</g>
</svg>
</svg>
`;
}

function drawFilm(frames, frameHeight) {
  const ids = new Map();
  const definitions = [];
  const idOf = (row) => {
    const drawn = row.map(drawRun).join("");
    if (!ids.has(drawn)) {
      const id = `r${ids.size.toString(36)}`;
      ids.set(drawn, id);
      definitions.push(`<g id="${id}">${drawn}</g>`);
    }
    return ids.get(drawn);
  };
  const film = frames.map(({ rows }, index) => {
    const uses = rows.map((row, at) =>
      row.length === 0 ? "" : `<use href="#${idOf(row)}" y="${index * frameHeight + at * cell.height}"/>`,
    );
    return uses.join("");
  });
  return { definitions, film };
}

/** With the width that it has in the grid: fonts differ. */
function drawRun({ column, style, text }) {
  const cells = [...text].length;
  const kind = style === "" ? "" : ` class="${style}"`;
  const width = (cells * cell.width).toFixed(1).replace(/\.0$/, "");
  const x = (column * cell.width).toFixed(1).replace(/\.0$/, "");
  return `<text x="${x}" y="13"${kind} textLength="${width}" lengthAdjust="spacingAndGlyphs">${escaped(text)}</text>`;
}

function styleSheet(frames, frameHeight) {
  const totalMs = frames.reduce((sum, { ms }) => sum + ms, 0);
  let passedMs = 0;
  const steps = frames.map(({ ms }, index) => {
    const step = `${((100 * passedMs) / totalMs).toFixed(2)}%{transform:translateY(${-index * frameHeight}px)}`;
    passedMs += ms;
    return step;
  });
  const end = `translateY(${-(frames.length - 1) * frameHeight}px)`;
  return `
text{font:${fontSize}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d8dee9;white-space:pre}
.window{fill:#14181f;stroke:#3b4252}
.bold{font-weight:700}.dim{fill:#8b95a7}.red{fill:#ff7b72}.green{fill:#56d364}.yellow{fill:#e3b341}.cyan{fill:#56c8d8}
@media (prefers-color-scheme:light){
text{fill:#1f2328}.window{fill:#fbfcfd;stroke:#c9d1d9}
.dim{fill:#656d76}.red{fill:#c62828}.green{fill:#1a7f37}.yellow{fill:#8a5d00}.cyan{fill:#0a6c7d}}
.film{transform:${end};animation:play ${(totalMs / 1000).toFixed(1)}s step-end infinite}
@keyframes play{${steps.join("")}100%{transform:${end}}}
@media (prefers-reduced-motion:reduce){.film{animation:none}}
`;
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
