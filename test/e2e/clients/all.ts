// Everybody.
import { bufCurlClients } from "./buf-curl.js";
import type { StreamClient } from "./client.js";
import { connectClients } from "./connect.js";
import { grpcJsClient } from "./grpc-js.js";
import { heddleFollowClient } from "./heddle-follow.js";
import { pythonClient } from "./python.js";

/** Those that report errors as the protocol does, and not in words of their own. */
export const typedClients: readonly StreamClient[] = [grpcJsClient, ...connectClients, ...bufCurlClients, pythonClient];

export const allClients: readonly StreamClient[] = [...typedClients, heddleFollowClient];
