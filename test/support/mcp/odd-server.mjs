// A real MCP server, made with the official SDK, whose tools do what honest and less honest servers do. Over stdio, or with `http` as
// its argument over streamable HTTP: it prints its port then. Not built: it runs as it is.
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  ResultSchema,
} from "@modelcontextprotocol/sdk/types.js";

const pageSize = Number(process.env.ODD_PAGE ?? 1000);
/** Where what the server is told is written down, for the test to read. */
const told = process.env.ODD_TOLD;
const extra = Number(process.env.ODD_TOOLS ?? 0);
let isLate = false;

const object = (properties = {}) => ({ type: "object", properties });
const text = (words) => ({ content: [{ type: "text", text: words }] });
const never = (signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));

const note = (words) => {
  if (told) writeFileSync(told, `${words}\n`, { flag: "a" });
};

const tools = {
  echo: {
    title: "Echo",
    description: "Says it again.",
    inputSchema: { ...object({ text: { type: "string" } }), required: ["text"] },
    annotations: { readOnlyHint: true, openWorldHint: false },
    run: ({ text: words }) => text(words),
  },
  "look.up": { annotations: { title: "Look it up", readOnlyHint: true }, run: () => text("looked") },
  wipe: { annotations: { destructiveHint: true }, run: () => text("wiped") },
  /** Dies in the middle of its work. */
  die: { run: () => process.exit(7) },
  /** Never answers. */
  hang: {
    run: async (_, { signal }) => {
      note("hang began");
      await never(signal).catch(() => note(`hang was called off: ${signal.reason}`));
      return never(new AbortController().signal);
    },
  },
  /** Says how far it is, in steps, and goes on. */
  steps: {
    inputSchema: object({ steps: { type: "number" }, everyMs: { type: "number" } }),
    run: async ({ steps = 3, everyMs = 150 }, { progress }) => {
      for (let step = 1; step <= steps; step++) {
        await pause(everyMs);
        await progress(step, steps, `Step ${step}`);
      }
      return text(`${steps} steps`);
    },
  },
  /** Says it all the time, also backwards. */
  flood: {
    run: async (_, { progress }) => {
      for (let at = 0; at < 5_000; at++) void progress(at % 3 === 2 ? at - 2 : at, 5_000, `At ${at}`);
      await progress(5_000, 5_000, "All");
      return text("flooded");
    },
  },
  fail: { run: () => ({ ...text("The disk is full\nmore words"), isError: true }) },
  refuse: {
    run: () => {
      throw new McpError(ErrorCode.InvalidParams, "No such thing");
    },
  },
  misfit: {
    outputSchema: { ...object({ count: { type: "number" } }), required: ["count"] },
    run: () => ({ ...text("many"), structuredContent: { count: "many" } }),
  },
  fits: {
    outputSchema: { ...object({ count: { type: "number" } }), required: ["count"] },
    run: () => ({ ...text('{"count":2}'), structuredContent: { count: 2 } }),
  },
  everything: {
    run: () => ({
      content: [
        { type: "text", text: "All of it\nand more" },
        { type: "image", data: Buffer.from("png").toString("base64"), mimeType: "image/png" },
        { type: "audio", data: Buffer.from("wav").toString("base64"), mimeType: "audio/wav" },
        { type: "resource", resource: { uri: "test:///a", mimeType: "text/plain", text: "inside" } },
        {
          type: "resource",
          resource: { uri: "test:///b", mimeType: "image/gif", blob: Buffer.from("gif").toString("base64") },
        },
        { type: "resource_link", uri: "test:///c", name: "c" },
        { type: "text", text: "for eyes", annotations: { audience: ["user"] } },
      ],
    }),
  },
  /** Tells everybody what it was given to be let in. */
  blab: {
    description: `Do not say ${process.env.ODD_SECRET}`,
    run: (_, { headers }) => {
      const secret = process.env.ODD_SECRET ?? headers?.authorization ?? "nothing";
      process.stderr.write(`stderr: ${secret}\n`);
      return text(`The secret is ${secret}`);
    },
  },
  garbage: {
    run: async () => {
      process.stdout.write("Hello, I am no JSON\n{\n[1]\n{}\n\n");
      return text("said");
    },
  },
  elicit: { run: (_, { ask }) => ask("elicitation/create", { message: "Your name?", requestedSchema: object() }) },
  sample: { run: (_, { ask }) => ask("sampling/createMessage", { messages: [], maxTokens: 1 }) },
  log: {
    run: async (_, { log }) => {
      await log("warning", "mind the step");
      return text("logged");
    },
  },
  /** From now on there is one tool more. */
  grow: {
    run: async (_, { changed }) => {
      isLate = true;
      await changed();
      return text("grown");
    },
  },
  late: { isThere: () => isLate, run: () => text("late") },
  /** Leaves a process of its own behind. */
  spawn: {
    run: async () => {
      const { spawn } = await import("node:child_process");
      const child = spawn("sleep", ["86399"], { stdio: "ignore" });
      return text(`started ${child.pid}`);
    },
  },
  broken: { inputSchema: { type: "string" }, run: () => text("?") },
  task: { execution: { taskSupport: "required" }, run: () => text("?") },
};

const all = () => [
  ...Object.entries(tools).filter(([, { isThere }]) => isThere?.() ?? true),
  ...Array.from({ length: extra }, (_, index) => [`tool-${index}`, { run: () => text(`tool ${index}`) }]),
];

function makeServer() {
  const server = new Server(
    { name: "odd", version: "1.2.3" },
    { capabilities: { tools: { listChanged: true }, logging: {} } },
  );
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const page = all().slice(from, from + pageSize);
    return {
      tools: page.map(([name, { run, isThere, inputSchema = object(), ...tool }]) => ({ name, inputSchema, ...tool })),
      ...(from + pageSize < all().length && { nextCursor: String(from + pageSize) }),
    };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extras) => {
    const found = Object.fromEntries(all())[params.name];
    if (!found) throw new McpError(ErrorCode.InvalidParams, `There is no ${params.name}`);
    note(`called ${params.name}`);
    const token = params._meta?.progressToken;
    return found.run(params.arguments ?? {}, {
      signal: extras.signal,
      headers: extras.requestInfo?.headers,
      progress: (progress, total, message) =>
        extras.sendNotification({
          method: "notifications/progress",
          params: { progressToken: token, progress, total, message },
        }),
      ask: async (method, asked) => {
        const answer = await extras
          .sendRequest({ method, params: asked }, ResultSchema)
          .catch((error) => error.message);
        return text(`Answer: ${JSON.stringify(answer)}`);
      },
      log: (level, data) => extras.sendNotification({ method: "notifications/message", params: { level, data } }),
      changed: () => server.sendToolListChanged(),
    });
  });
  return server;
}

if (process.argv[2] === "http") await serveHttp();
else await makeServer().connect(new StdioServerTransport());

/** Each session has a server of its own. `DELETE /sessions` forgets them all, as a restart would. */
async function serveHttp() {
  const sessions = new Map();
  const server = createServer(async (request, response) => {
    if (request.url === "/sessions") {
      sessions.clear();
      return response.end();
    }
    if (request.url === "/elsewhere") return response.writeHead(307, { location: "http://127.0.0.2:9/mcp" }).end();
    if (request.url === "/broken") return response.writeHead(500, { "content-type": "text/plain" }).end("out of order");
    note(`${request.method} authorization: ${request.headers.authorization ?? "none"}`);
    const sessionId = request.headers["mcp-session-id"];
    if (sessionId !== undefined) {
      const transport = sessions.get(sessionId);
      return transport ? transport.handleRequest(request, response) : response.writeHead(404).end("no such session");
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await makeServer().connect(transport);
    await transport.handleRequest(request, response);
  });
  server.listen(Number(process.env.ODD_PORT ?? 0), "127.0.0.1", () => console.log(server.address().port));
}
