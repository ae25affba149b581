// Connect-ES in every protocol it speaks: over HTTP/2, over HTTP/1.1, and with fetch as a browser would.
import { toJson } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import {
  createConnectTransport as createWebConnect,
  createGrpcWebTransport as createWebGrpcWeb,
} from "@connectrpc/connect-web";
import { StreamThreadEventsResponseSchema } from "../../../gen/heddle/v1/event_pb.js";
import { ThreadService } from "../../../gen/heddle/v1/thread_service_pb.js";
import {
  authorization,
  connectTimeout,
  type Frame,
  grpcTimeout,
  type StreamClient,
  type StreamRequest,
  type Target,
} from "./client.js";
import { failureOf } from "./failure.js";

interface Opened {
  readonly transport: Transport;
  close(): void;
}

/** Requests that are compressed leave the lane; everything else about them is the same. */
const gzipped = { sendCompression: compressionGzip, compressMinBytes: 0 };
const binary = { useBinaryFormat: true };
const json = { useBinaryFormat: false };

const overHttp2 =
  (create: (options: { baseUrl: string; httpVersion: "2"; sessionManager: Http2SessionManager }) => Transport) =>
  ({ url, ca }: Target): Opened => {
    const sessionManager = new Http2SessionManager(url, undefined, ca && { ca: ca.pem });
    return {
      transport: create({ baseUrl: url, httpVersion: "2", sessionManager }),
      close: () => sessionManager.abort(),
    };
  };

const overHttp1 =
  (
    create: (options: { baseUrl: string; httpVersion: "1.1"; nodeOptions: { agent: false; ca?: string } }) => Transport,
  ) =>
  ({ url, ca }: Target): Opened => {
    const nodeOptions = { agent: false as const, ...(ca && { ca: ca.pem }) };
    return { transport: create({ baseUrl: url, httpVersion: "1.1", nodeOptions }), close: () => {} };
  };

const overFetch =
  (create: (options: { baseUrl: string }) => Transport) =>
  ({ url }: Target): Opened => ({ transport: create({ baseUrl: url }), close: () => {} });

export type Definition = Omit<StreamClient, "frames" | "isHere" | "isCommand"> & {
  readonly open: (target: Target) => Opened;
};

const lane = { servedBy: "lane", trustsCertificates: true } as const;
const handler = { servedBy: "handler", trustsCertificates: true } as const;

export const definitions: readonly Definition[] = [
  {
    name: "gRPC over HTTP/2 (connect-node)",
    open: overHttp2(createGrpcTransport),
    timeoutHeader: grpcTimeout,
    ...lane,
  },
  {
    name: "gRPC over HTTP/2, request compressed (connect-node)",
    open: overHttp2((options) => createGrpcTransport({ ...options, ...gzipped })),
    timeoutHeader: grpcTimeout,
    ...handler,
  },
  {
    name: "gRPC JSON over HTTP/2 (connect-node)",
    open: overHttp2((options) => createGrpcTransport({ ...options, ...json })),
    timeoutHeader: grpcTimeout,
    ...handler,
  },
  {
    name: "Connect over HTTP/2 (connect-node)",
    open: overHttp2((options) => createConnectTransport({ ...options, ...binary })),
    timeoutHeader: connectTimeout,
    ...lane,
  },
  {
    name: "Connect JSON over HTTP/2 (connect-node)",
    open: overHttp2((options) => createConnectTransport({ ...options, ...json })),
    timeoutHeader: connectTimeout,
    ...handler,
  },
  {
    name: "gRPC-Web over HTTP/2 (connect-node)",
    open: overHttp2(createGrpcWebTransport),
    timeoutHeader: grpcTimeout,
    ...lane,
  },
  {
    name: "Connect over HTTP/1.1 (connect-node)",
    open: overHttp1((options) => createConnectTransport({ ...options, ...binary })),
    timeoutHeader: connectTimeout,
    ...lane,
  },
  {
    name: "Connect over HTTP/1.1, request compressed (connect-node)",
    open: overHttp1((options) => createConnectTransport({ ...options, ...binary, ...gzipped })),
    timeoutHeader: connectTimeout,
    ...handler,
  },
  {
    name: "Connect JSON over HTTP/1.1 (connect-node)",
    open: overHttp1((options) => createConnectTransport({ ...options, ...json })),
    timeoutHeader: connectTimeout,
    ...handler,
  },
  {
    name: "gRPC-Web over HTTP/1.1 (connect-node)",
    open: overHttp1(createGrpcWebTransport),
    timeoutHeader: grpcTimeout,
    ...lane,
  },
  {
    name: "gRPC-Web over HTTP/1.1, request compressed (connect-node)",
    open: overHttp1((options) => createGrpcWebTransport({ ...options, ...gzipped })),
    timeoutHeader: grpcTimeout,
    ...handler,
  },
  {
    name: "Connect with fetch (connect-web)",
    open: overFetch((options) => createWebConnect({ ...options, ...binary })),
    timeoutHeader: connectTimeout,
    servedBy: "lane",
    trustsCertificates: false,
  },
  {
    name: "Connect JSON with fetch (connect-web)",
    open: overFetch(createWebConnect),
    timeoutHeader: connectTimeout,
    servedBy: "handler",
    trustsCertificates: false,
  },
  {
    name: "gRPC-Web with fetch (connect-web)",
    open: overFetch(createWebGrpcWeb),
    timeoutHeader: grpcTimeout,
    servedBy: "lane",
    trustsCertificates: false,
  },
];

async function* frames(
  open: Definition["open"],
  [target, request, { headers, signal, timeoutMs }]: Parameters<StreamClient["frames"]>,
): AsyncGenerator<Frame> {
  const { transport, close } = open(target);
  try {
    const stream = createClient(ThreadService, transport).streamThreadEvents(init(request), {
      signal,
      headers: { ...authorization(target), ...headers },
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    for await (const event of stream) yield toJson(StreamThreadEventsResponseSchema, event) as Frame;
  } catch (reason) {
    throw failureOf(reason);
  } finally {
    close();
  }
}

const init = ({ threadId, afterSequence = 0n, follow = false }: StreamRequest) => ({ threadId, afterSequence, follow });

export const connectClients: readonly StreamClient[] = definitions.map(({ open, ...definition }) => ({
  ...definition,
  isHere: true,
  isCommand: false,
  frames: (...given) => frames(open, given),
}));
