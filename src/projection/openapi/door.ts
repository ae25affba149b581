// GET /openapi.json. Built when it is first asked for: most servers are never asked.
import { answer } from "../../server/answer.js";
import type { Door } from "../../server/exchange.js";
import { openApiText, type Surface } from "./document.js";

export function createOpenApiDoor(surface: Surface): Door {
  let text: string | undefined;
  return (exchange) => {
    if (exchange.path !== "/openapi.json" || exchange.method !== "GET") return false;
    text ??= openApiText(surface);
    answer(exchange, { status: 200, headers: { "content-type": "application/json" }, text });
    return true;
  };
}
