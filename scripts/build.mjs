// Compiles src/ and gen/ into dist/, and makes the command executable (npx starts it directly).
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
chmodSync("dist/src/cli/main.js", 0o755);
