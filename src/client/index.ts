// The client, for Node and for browsers: the caller brings a Connect transport.
export { type Backoff, defaultBackoff } from "./backoff.js";
export { type EventSource, type FollowOptions, type FollowState, followThread } from "./follow-thread.js";
export { type InsistOptions, insist } from "./insist.js";
export { type KeepOptions, type KeepState, keepOpen } from "./keep-open.js";
export { isResumable, reasonOf } from "./resumable.js";
