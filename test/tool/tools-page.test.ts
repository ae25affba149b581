// docs/tools.md lists the built-in tools as they are. `UPDATE_GOLDEN=1` draws the table anew: read the difference before you
// commit it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isUpdate } from "../golden/golden-files.js";
import { everyTool } from "./every-tool.js";
import { drawToolsPage } from "./tools-page.js";

const path = join(import.meta.dirname, "../../docs/tools.md");

test("docs/tools.md shows every built-in tool as it is defined", () => {
  const drawn = drawToolsPage(readFileSync(path, "utf8"), everyTool());
  if (isUpdate) writeFileSync(path, drawn);
  expect(readFileSync(path, "utf8")).toBe(drawn);
});
