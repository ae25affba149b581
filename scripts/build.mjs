// Compiles src/ and gen/ into dist/, makes the command executable, and links it where `npx heddle` looks first.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, symlinkSync } from "node:fs";

const command = "dist/src/cli/main.js";
const link = "node_modules/.bin/heddle";

rmSync("dist", { recursive: true, force: true });
execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
chmodSync(command, 0o755);
mkdirSync("node_modules/.bin", { recursive: true });
rmSync(link, { force: true });
symlinkSync(`../../${command}`, link);
