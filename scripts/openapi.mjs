// Writes docs/openapi.json: what the server serves at /openapi.json.
import { writeFileSync } from "node:fs";
import { openApiText } from "../src/projection/openapi/document.ts";

writeFileSync(new URL("../docs/openapi.json", import.meta.url), openApiText());
