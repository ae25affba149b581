// MCP servers that threads bring along, and who takes them in.
import { create } from "@bufbuild/protobuf";
import { HeddleError } from "./thread/errors.js";
import { type McpServerDocument, McpServerDocumentSchema } from "./thread/schema.js";
import type { BroughtServer } from "./tool/mcp/check-thread-servers.js";

export type { BroughtServer };

/** Who takes MCP servers that threads bring along. */
export interface ServerIntake {
  /** Throws `mcp_not_allowed` or `invalid_field`. */
  check(servers: readonly BroughtServer[], field: string): void;
  /** Keeps their headers, in memory only. */
  adopt(threadId: string, servers: readonly BroughtServer[]): void;
}

/** As the thread's document has it: without its secrets. */
export const serverDocument = ({ label, url, headers }: BroughtServer): McpServerDocument =>
  create(McpServerDocumentSchema, { label, url, hadHeaders: Object.keys(headers).length > 0 });

export const noIntake: ServerIntake = {
  check: () => {
    throw new HeddleError("mcp_not_allowed", "This server takes no MCP servers from its callers");
  },
  adopt: () => {},
};
