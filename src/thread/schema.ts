// The generated words that the log, the recorder and the verbs speak. They import them from here: gen/ stays behind
// one door, and a change of generator touches one file.
export {
  type ClaimDocument,
  ClaimDocumentSchema,
  type DiscoveryDocument,
  DiscoveryDocumentSchema,
  type LeaseDocument,
  LeaseDocumentSchema,
  type McpServerDocument,
  McpServerDocumentSchema,
  type ParentDocument,
  ParentDocumentSchema,
  type ProcessDocument,
  ProcessDocumentSchema,
  RequestDocumentSchema,
  type RunDocument,
  RunDocumentSchema,
  type StoredContent,
  type ThreadDocument,
  ThreadDocumentSchema,
  type ToolCallDocument,
  ToolCallDocumentSchema,
} from "../../gen/heddle/storage/v1/storage_pb.js";
export {
  type ContentChunk,
  type ContentInfo,
  ContentInfoSchema,
  ContentRole,
} from "../../gen/heddle/v1/content_pb.js";
export {
  Closing_Reason as ClosingReason,
  OutputStream,
  PlanEntry_Status as PlanEntryStatus,
  ProcessOutcome,
  Role,
  RunCompletedSchema,
  RunOutcome,
  SuspendReason,
  TextPurpose,
  ToolCallApprovalResolved_Decision as ApprovalDecision,
  ToolCallPhase,
  type Usage,
  UsageSchema,
} from "../../gen/heddle/v1/event_pb.js";
export {
  ApprovalMode,
  type RunOptions,
  RunOptionsSchema,
  ToolChoice_Mode as ToolChoiceMode,
} from "../../gen/heddle/v1/run_options_pb.js";
export {
  type Thread,
  ThreadSchema,
  ThreadState as WireThreadState,
  WatchThreadsResponseSchema,
} from "../../gen/heddle/v1/thread_service_pb.js";
export {
  Executor,
  type ToolCall,
  type ToolCallApproval,
  ToolCallApprovalSchema,
  type ToolCallClaim,
  ToolCallClaimSchema,
  ToolCallOutcome,
  ToolCallSchema,
  ToolCallState,
  ToolKind,
  ToolPolicy,
  type ToolSource,
  ToolSourceSchema,
} from "../../gen/heddle/v1/tool_call_pb.js";
export {
  type ClientTool,
  ClientToolSchema,
  type GetToolDiscoveryResponse as ToolDiscovery,
  GetToolDiscoveryResponseSchema as ToolDiscoverySchema,
  type McpServer,
  McpServerSchema,
  McpServerState,
  OfferToolsResponseSchema,
  type Tool,
  ToolSchema,
} from "../../gen/heddle/v1/tool_service_pb.js";
