import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ToolFailure } from "../../../src/tool/tool.js";
import { Workspace } from "../../../src/tool/workspace/workspace.js";
import { canary, type Ground, makeGround } from "./support.js";

const rounds = 2_000;
/** So many calls are under way at a time. */
const lanes = 4;

let ground: Ground;
let workspace: Workspace;

beforeEach(async () => {
  ground = makeGround();
  mkdirSync(join(ground.root, "trap"));
  writeFileSync(join(ground.root, "trap/secret"), "inside");
  mkdirSync(join(ground.root, "trap/deep"));
  writeFileSync(join(ground.root, "trap/deep/secret"), "inside");
  workspace = await Workspace.open(ground.root);
});
afterEach(async () => {
  await workspace.close();
  ground.remove();
});

describe.skipIf(process.platform !== "linux")(
  "while a directory is swapped for a link to the outside (needs Linux)",
  () => {
    test.each(["trap/secret", "trap/deep/secret"])(`${rounds} reads of %s never see what is outside`, async (path) => {
      const tally = await raced(swapDirectory, async () => {
        const { text } = await workspace.readText(path, 1_000);
        expect(text).toBe("inside");
      });
      expectBothWays(tally);
    });

    test(`${rounds} listings never see what is outside`, async () => {
      writeFileSync(join(ground.outside, "only-outside"), "");
      const tally = await raced(swapDirectory, async () => {
        await using directory = await workspace.openDirectory("trap");
        for await (const { name } of directory.entries()) expect(name).not.toBe("only-outside");
      });
      expectBothWays(tally);
    });

    test(`${rounds} writes never land outside`, async () => {
      const tally = await raced(swapDirectory, async (round) => {
        await workspace.writeFile(`trap/new-${round % 10}/file`, "inside", { makeParents: true });
      });
      expectBothWays(tally);
    });

    test(`${rounds} moves and removals take nothing from outside and put nothing there`, async () => {
      const tally = await raced(swapDirectory, async (round) => {
        await workspace.writeFile(`src/own-${round}`, "inside", { expect: "new" });
        await workspace.moveFile(`src/own-${round}`, `trap/own-${round}`);
      });
      expectBothWays(tally);
      const removals = await raced(swapDirectory, async (round) => {
        await workspace.writeFile(`trap/own-${round % 10}`, "inside");
        await workspace.removeFile(`trap/own-${round % 10}`).catch(refusedOnly);
      });
      expectBothWays(removals);
      // Were it ever to be the directory outside, it would be this that is gone.
      await raced(
        swapDirectory,
        () => workspace.moveFile("trap/deep/secret", `src/taken-${Math.random()}`),
        rounds / 4,
      );
      await raced(swapDirectory, () => workspace.removeFile("trap/secret"), rounds / 8);
    });
  },
);

describe.skipIf(process.platform !== "linux")("while a file is swapped for what is no file (needs Linux)", () => {
  test("reads and writes never see or touch what is outside", async () => {
    const tally = await raced(swapFile, async (round) => {
      if (round % 4 === 0) return void (await workspace.writeFile("src/file", "inside"));
      const { text } = await workspace.readText("src/file", 1_000);
      expect(text).toBe("inside");
    });
    expectBothWays(tally);
  });
});

test.skipIf(process.platform !== "linux")("of all that want a name that is free, one gets it", async () => {
  for (let round = 0; round < 50; round++) {
    for (const index of [0, 1, 2, 3]) writeFileSync(join(ground.root, `mover-${index}`), `${index}`);
    const moves = [0, 1, 2, 3].map((index) => workspace.moveFile(`mover-${index}`, "won"));
    const writes = [0, 1].map((index) => workspace.writeFile("won", `w${index}`, { expect: "new" }));
    const outcomes = await Promise.allSettled<unknown>([...moves, ...writes]);
    const lost = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(lost.map(({ reason }) => reason.code)).toEqual(Array(5).fill("EEXIST"));
    // Whoever lost still has its file.
    expect(readdirSync(ground.root).filter((name) => name.startsWith("mover-")).length).toBe(
      outcomes.slice(0, 4).filter(({ status }) => status === "rejected").length,
    );
    rmSync(join(ground.root, "won"));
  }
  expect(readdirSync(ground.root).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

interface Tally {
  done: number;
  refused: number;
  swaps: number;
}

/** Runs `work` over and over while a thread swaps things as fast as it can; what is outside is compared with before at the end. */
async function raced(swap: string, work: (round: number) => Promise<unknown>, count = rounds): Promise<Tally> {
  const outsideBefore = ground.outsideNow();
  const tally: Tally = { done: 0, refused: 0, swaps: 0 };
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { shared, root: ground.root, outside: ground.outside };
  const swapper = new Worker(swap, { eval: true, workerData });
  const ended = new Promise((resolve, reject) => swapper.on("exit", resolve).on("error", reject));
  await new Promise((resolve) => swapper.once("message", resolve));
  let round = 0;
  const lane = async (): Promise<void> => {
    // On a busy machine the other side may come too late: it goes on for it, within bounds.
    while (round < count || (Atomics.load(shared, 1) <= rounds / 10 && round < 20 * count)) {
      try {
        await work(round++);
        tally.done++;
      } catch (reason) {
        // An assertion is no ToolFailure, and is not forgiven.
        if (!(reason instanceof Error) || reason.name !== "ToolFailure") throw reason;
        expect(reason.message).not.toContain(canary);
        tally.refused++;
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } finally {
    Atomics.store(shared, 0, 1);
    await ended;
  }
  tally.swaps = Atomics.load(shared, 1);
  expect(ground.outsideNow()).toEqual(outsideBefore);
  return tally;
}

function refusedOnly(reason: unknown): void {
  if (!(reason instanceof ToolFailure)) throw reason;
}

/** A race in which one side always wins has shown nothing. */
function expectBothWays({ done, refused, swaps }: Tally): void {
  expect(done).toBeGreaterThan(rounds / 100);
  expect(refused).toBeGreaterThan(rounds / 100);
  expect(swaps).toBeGreaterThan(rounds / 10);
}

const swapLoop = (once: string): string => `
  const { linkSync, existsSync, renameSync, symlinkSync, unlinkSync, writeFileSync } = require("node:fs");
  const { parentPort, workerData: { shared, root, outside } } = require("node:worker_threads");
  parentPort.postMessage("ready");
  while (Atomics.load(shared, 0) === 0) {
    ${once}
    Atomics.add(shared, 1, 1);
  }
  parentPort.close();
`;

/** With a rest now and then: both sides must win sometimes. */
const swapDirectory = swapLoop(`
  if (Atomics.load(shared, 1) % 20 === 19) Atomics.wait(shared, 0, 0, 2);
  try {
    renameSync(root + "/trap", root + "/kept");
    symlinkSync(outside, root + "/trap");
    unlinkSync(root + "/trap");
    renameSync(root + "/kept", root + "/trap");
  } catch {
    // Whoever makes parents has made one of this name meanwhile: it goes out of the way.
    for (let tries = 0; existsSync(root + "/kept"); tries++) {
      try {
        renameSync(root + "/trap", root + "/aside-" + Atomics.load(shared, 1) + "-" + tries);
      } catch {}
      try {
        renameSync(root + "/kept", root + "/trap");
      } catch {}
    }
  }
`);

/** By renaming over: the name is always there, and is a file, a link out, a hard link to the outside in turn. */
const swapFile = swapLoop(`
  if (Atomics.load(shared, 1) % 20 === 19) Atomics.wait(shared, 0, 0, 2);
  symlinkSync(outside + "/secret", root + "/next");
  renameSync(root + "/next", root + "/src/file");
  linkSync(outside + "/deep/secret", root + "/next");
  renameSync(root + "/next", root + "/src/file");
  writeFileSync(root + "/next", "inside");
  renameSync(root + "/next", root + "/src/file");
`);
