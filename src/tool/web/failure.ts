// How reaching out can fail, as a closed list of codes. Messages name the host that was asked for, never an address that a
// name leads to: a model must not learn what the network behind the server looks like.
import { ToolFailure } from "../tool.js";

export type WebFailureCode =
  | "EBADURL"
  | "EBLOCKED"
  | "ENOTFOUND"
  | "ECONNECT"
  | "ETLS"
  | "ETIMEDOUT"
  | "ETOOLARGE"
  | "EENCODING"
  | "ECUTOFF"
  | "EBADANSWER"
  | "EREDIRECT"
  | "EMEDIATYPE"
  | "EUNREADABLE";

export const webFailure = (code: WebFailureCode, message: string, cause?: unknown): ToolFailure =>
  new ToolFailure(message, { code, cause });
