// What the server has open, as JSON, for operators and tests: GET /statusz. Behind the token like everything else.
import { answer } from "./answer.js";
import type { Door } from "./exchange.js";

export const statusDoor =
  (status: () => Record<string, number>): Door =>
  (exchange) => {
    if (exchange.path !== "/statusz" || exchange.method !== "GET") return false;
    const { rss, heapUsed, external } = process.memoryUsage();
    const text = `${JSON.stringify({ ...status(), rss, heapUsed, external })}\n`;
    answer(exchange, {
      status: 200,
      headers: { "cache-control": "no-store", "content-type": "application/json" },
      text,
    });
    return true;
  };
