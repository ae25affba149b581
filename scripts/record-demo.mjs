// Draws docs/images/run.svg and docs/images/tour.svg anew (or the one that is named) from real runs: the built command with the demo
// model, in a pseudo-terminal, on a copy of the sample project. Questions are answered as a person would, with y. Needs a build, and
// `script` of util-linux.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { chosenFrames } from "./record-demo/frames.mjs";
import { Screen } from "./record-demo/screen.mjs";
import { drawSvg } from "./record-demo/svg.mjs";

const root = resolve(import.meta.dirname, "..");
const command = join(root, "dist/src/cli/main.js");
const recordings = {
  run: { prompt: "Look around, find the bug, fix it and run the tests" },
  tour: { prompt: "Take the tour", isIndexed: true },
};
const size = { columns: 104, rows: 30 };
const mostBytes = 100_000;
/** Much longer than the run takes. */
const longestMs = 120_000;
/** How long somebody looks at a question, and at what was typed. */
const readingMs = 1_600;
const typingMs = 500;

const [named] = process.argv.slice(2);
for (const [name, recording] of Object.entries(recordings)) if (!named || named === name) await draw(name, recording);

async function draw(name, recording) {
  const pieces = await record(recording);
  const svg = drawSvg(chosenFrames(screensOf(pieces)), size, `A recording of heddle run "${recording.prompt}"`);
  const bytes = Buffer.byteLength(svg);
  if (bytes > mostBytes) throw new Error(`the picture has ${bytes} bytes: too many`);
  const target = join(root, `docs/images/${name}.svg`);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, svg);
  console.log(`${target}: ${bytes} bytes, from ${pieces.length} pieces of output`);
}

/** What the terminal was sent, and when. */
async function record({ prompt, isIndexed = false }) {
  const directory = mkdtempSync(join(tmpdir(), "heddle-record-"));
  const project = join(directory, "sample-project");
  cpSync(join(root, "examples/sample-project"), project, { recursive: true });
  rmSync(join(project, ".heddle"), { recursive: true, force: true });
  try {
    if (isIndexed) execFileSync(process.execPath, [command, "index", "."], { cwd: project, stdio: "ignore" });
    return await play(project, prompt);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function play(project, prompt) {
  const line = `heddle run "${prompt}"`;
  const shell = `stty cols ${size.columns} rows ${size.rows}; printf '$ %s\\n' '${line}'; exec ${line}`;
  const env = { HOME: process.env.HOME, PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}` };
  const child = spawn("script", ["-qfec", shell, "/dev/null"], {
    cwd: project,
    env: { ...env, TERM: "xterm-256color", LANG: "C.UTF-8", SHELL: "/bin/sh" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const pieces = [];
  const start = performance.now();
  let isAsked = false;
  child.stdout.setEncoding("utf8").on("data", (text) => {
    pieces.push({ ms: performance.now() - start, text });
    const asks = text.lastIndexOf("Allow? ") > text.lastIndexOf("allowed");
    if (asks && !isAsked) answer(child.stdin);
    isAsked = asks;
  });
  const timer = setTimeout(() => child.kill(), longestMs);
  return new Promise((done, fail) => {
    child.on("error", (cause) => fail(new Error("`script` of util-linux does not start: install it", { cause })));
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code === 0) done(pieces);
      else fail(new Error(`the run ended with ${code}:\n${pieces.map(({ text }) => text).join("")}`));
    });
  });
}

function answer(stdin) {
  setTimeout(() => stdin.write("y"), readingMs);
  setTimeout(() => stdin.write("\r"), readingMs + typingMs);
}

/** What was to be seen, each time that it was another. */
function screensOf(pieces) {
  const screen = new Screen(size);
  const seen = [];
  for (const { ms, text } of pieces) {
    screen.write(text);
    if (screen.isWhole) seen.push({ ms, rows: screen.rows() });
  }
  return seen;
}
