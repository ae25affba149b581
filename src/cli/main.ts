#!/usr/bin/env node
import "./v8-flags.js";
import { processIo } from "./io.js";
import { runCli } from "./run.js";

const io = processIo();
const code = await runCli(process.argv.slice(2), io);
// An empty write comes back when all before it is out; a reader that has left makes it fail, which is all the same here.
await Promise.allSettled([io.stdout.write(""), io.stderr.write("")]);
process.exit(code);
