import { describe, expect, test } from "vitest";
import { updateTodos } from "../../../src/tool/builtin/update-todos.js";
import { checkInput } from "../../../src/tool/check-input.js";
import { KeptContext } from "../support.js";

const item = (status: "pending" | "in_progress" | "completed", content = "Do it") => ({ content, status });

describe("update_todos", () => {
  test("tells everyone the plan, and counts it", async () => {
    const items = [item("completed"), item("completed"), item("in_progress"), item("pending"), item("pending")];
    const context = new KeptContext();
    expect(updateTodos.describe({ items })).toBe("Updating the to-do list (5 items)");
    const outcome = await updateTodos.run({ items }, context);
    expect(outcome).toEqual({
      result: { completed: 2, inProgress: 1, pending: 2 },
      summary: "To-do list: 2 done, 1 in progress, 2 open",
    });
    expect(context.plans).toEqual([items]);
    expect(updateTodos.toModel!(outcome.result)).toBe("The to-do list is up to date: 2 done, 1 in progress, 2 open.");
  });

  test("clears the list", async () => {
    const context = new KeptContext();
    expect((await updateTodos.run({ items: [] }, context)).summary).toBe("To-do list: empty");
    expect(context.plans).toEqual([[]]);
  });

  test.each([
    [2, "Two items in progress; keep one, and set the others to pending"],
    [3, "3 items in progress; keep one, and set the others to pending"],
  ])("fails with %d items in progress, and the plan stays as it was", async (count, message) => {
    const context = new KeptContext();
    await expect(updateTodos.run({ items: Array(count).fill(item("in_progress")) }, context)).rejects.toMatchObject({
      name: "ToolFailure",
      message,
    });
    expect(context.plans).toEqual([]);
  });

  test.each([
    {},
    { items: [item("pending", " ")] },
    { items: [item("pending", "x".repeat(501))] },
    { items: [{ content: "a", status: "done" }] },
    { items: Array(101).fill(item("pending")) },
  ])("does not take %.60j", (input) => {
    expect(checkInput(updateTodos, JSON.stringify(input)).ok).toBe(false);
  });
});
