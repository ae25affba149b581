// `toolConformance` over the built-in tools that start threads or programs.
import { afterAll, describe } from "vitest";
import { hasBubblewrap } from "./command/support.js";
import { conformanceOf, startsSomething } from "./conformance-of.js";
import { everyTool } from "./every-tool.js";
import { examplesWith } from "./examples.js";
import { startSampleWeb } from "./sample-web.js";

const web = await startSampleWeb();
afterAll(() => web.close());

const examples = examplesWith(web);
const held = everyTool({ sandbox: hasBubblewrap() ? "bubblewrap" : "none", webHost: web.host });

for (const tool of held) if (startsSomething.has(tool.name)) conformanceOf(tool, examples);

describe("where nothing holds commands in", () => {
  for (const tool of everyTool({ sandbox: "none" })) if (tool.name === "run_command") conformanceOf(tool, examples);
});
