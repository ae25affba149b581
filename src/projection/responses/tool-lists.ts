// Lists of MCP servers' tools, as items of a response.
import type { ThreadEvent } from "../../thread/event.js";
import { type Open, type Output, place } from "./output.js";
import { itemId } from "./response-id.js";
import type { McpListedTool } from "./wire.js";

export class ToolLists {
  readonly #out: Output;
  readonly #discoveries = new Map<string, Open & { readonly serverLabel: string }>();

  constructor(out: Output) {
    this.#out = out;
  }

  has = (discoveryId: string): boolean => this.#discoveries.has(discoveryId);

  open({ discoveryId, serverLabel }: { discoveryId: string; serverLabel: string }): void {
    if (!this.#out.isOwn) return;
    const id = itemId("mcpl", discoveryId);
    const open = this.#out.add({ id, type: "mcp_list_tools", server_label: serverLabel, tools: [] });
    this.#discoveries.set(discoveryId, { ...open, serverLabel });
    this.#out.emit({ type: "response.mcp_list_tools.in_progress", ...place(open), name: serverLabel });
  }

  close(
    { tools = [] }: { readonly tools?: readonly McpListedTool[] },
    { discoveryId, success, errorMessage }: Discovered,
  ): void {
    const open = this.#discoveries.get(discoveryId);
    if (!open) return;
    this.#discoveries.delete(discoveryId);
    const { serverLabel } = open;
    const type = success ? "response.mcp_list_tools.completed" : "response.mcp_list_tools.failed";
    this.#out.emit({ type, ...place(open), name: serverLabel });
    const error = success ? {} : { error: errorMessage };
    this.#out.done(open, { id: open.id, type: "mcp_list_tools", server_label: serverLabel, tools, ...error });
  }
}

type Discovered = Extract<ThreadEvent["payload"], { case: "toolDiscoveryComplete" }>["value"];
