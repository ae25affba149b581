// What is known of a claimed call beside the log goes with it, however it ends.
import { expect, test } from "vitest";
import { ClaimClocks } from "../../src/loop/claim-clocks.js";

test("a call that is over leaves nothing behind of when it last spoke", () => {
  const clocks = new ClaimClocks({ unclaimed: async () => {}, silent: async () => {} });
  clocks.spoke("a call");
  expect(clocks.quietMs("a call")).toBeLessThan(60_000);
  clocks.stop("a call");
  expect(clocks.quietMs("a call")).toBe(Number.POSITIVE_INFINITY);
  clocks.dispose();
});
