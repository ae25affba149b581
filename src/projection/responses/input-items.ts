// What a request said, page by page.
import { wrong } from "./errors.js";
import type { Query } from "./query.js";
import type { ListedItem } from "./request-input.js";

const pageSize = { default: 20, max: 100 } as const;

/** Throws an ApiError that names the parameter. */
export function inputPage(items: readonly ListedItem[], query: Query) {
  const limit = query.wholeNumber("limit", { min: 1, max: pageSize.max }) ?? pageSize.default;
  const order = query.oneOf("order", ["asc", "desc"]) ?? "desc";
  const ordered = order === "asc" ? items : items.toReversed();
  const from = beginOf(ordered, query.text("after"));
  const data = ordered.slice(from, from + limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < ordered.length,
  };
}

function beginOf(items: readonly ListedItem[], after: string | undefined): number {
  if (after === undefined) return 0;
  const at = items.findIndex(({ id }) => id === after);
  if (at < 0)
    throw wrong("after", `Invalid value for 'after': there is no item '${after.slice(0, 100)}'.`, "invalid_value");
  return at + 1;
}
