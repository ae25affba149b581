// One request on one connection, up to the headers of its answer. Every connection carries one request only.
import { request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { oneLine } from "../words.js";
import { webFailure } from "./failure.js";

const headerBytes = 32 * 1024;
const userAgent = "heddle";

export interface WebRequest {
  readonly method: "GET" | "POST";
  /** Further headers, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** The answer, its body not yet read. Contract: whoever has it destroys the socket in the end. */
export function sendRequest(url: URL, { method, headers, body }: WebRequest, socket: Socket): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      createConnection: () => socket,
      method,
      path: `${url.pathname}${url.search}`,
      setHost: false,
      headers: {
        host: url.host,
        "user-agent": userAgent,
        "accept-encoding": "gzip, br",
        connection: "close",
        ...headers,
        ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
      },
      maxHeaderSize: headerBytes,
    });
    // Also after the answer has begun: a later error is told by the body, and must not go unheard here.
    request.on("error", (reason) => reject(worded(reason, url)));
    request.once("response", resolve);
    // Also a change of protocol, which nobody has asked for, ends here without another word.
    request.once("close", () => reject(worded(new Error("closed"), url)));
    request.end(body);
  });
}

function worded(reason: NodeJS.ErrnoException, { hostname }: URL): Error {
  const host = oneLine(hostname);
  if (reason.code === "HPE_HEADER_OVERFLOW")
    return webFailure("ETOOLARGE", `${host} answered with more than 32 KiB of headers; choose another source`, reason);
  if (reason.code?.startsWith("HPE_"))
    return webFailure(
      "EBADANSWER",
      `${host} does not answer as a web server (${reason.code}); choose another source`,
      reason,
    );
  return webFailure("ECUTOFF", `${host} hung up before it answered (${reason.code ?? "no reason"}); try again`, reason);
}
