import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Some promises are about time, and a shared machine may be late once. What fails twice has failed; what passes only then is told
    // by the reporter, and is to be looked at.
    retry: process.env["CI"] === "true" ? 1 : 0,
    // Suites start real servers and stores: two at a time keeps a small machine honest.
    maxWorkers: 2,
  },
});
