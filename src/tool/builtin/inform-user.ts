// Tells the user something while the work goes on.
import { z } from "zod";
import { defineTool } from "../tool.js";

const message = z.string().regex(/\S/, "must not be empty").max(20_000);

export const informUser = defineTool({
  name: "inform_user",
  title: "Inform the user",
  description: "Tell the user how the work is going, or what you found, and go on working. It asks for no answer.",
  kind: "other",
  input: z.object({ message: message.describe("The update, as the user will read it") }),
  output: z.object({ message: message.describe("As it was sent") }),
  textFields: [{ field: "message", purpose: "speech" }],
  describe: () => "Sending you an update",
  run: async ({ message }) => ({ result: { message }, summary: "Sent an update" }),
  toModel: () => "The user has the update. Go on.",
});
