// What a tool that runs here says about itself, recorded as it comes.
import type { RunRecorder } from "../recorder/run-recorder.js";
import type { ToolCallOutputDelta } from "../thread/schema.js";
import type { ReportSink } from "./call-report.js";

/** A line of progress that is lost costs nothing; lost output shows in the record of the call's end. */
export const recordReport = (recorder: RunRecorder, toolCallId: string): ReportSink => ({
  progress: (progress) => {
    recorder.record({ case: "toolCallProgress", value: { toolCallId, ...progress } }).catch(() => {});
  },
  output: (stream, text) => {
    const value: ToolCallOutputDelta = {
      $typeName: "heddle.v1.ToolCallOutputDelta",
      toolCallId,
      stream,
      offset: 0n,
      text,
    };
    recorder.delta({ case: "toolCallOutputDelta", value });
  },
  plan: (entries) => {
    recorder.record({ case: "planUpdated", value: { entries: [...entries] } }).catch(() => {});
  },
});
