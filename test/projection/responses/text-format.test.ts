// Answers in a form: passed on to models that can be asked for it, refused by name for others, and echoed.
import { describe, expect, test } from "vitest";
import { replies, said } from "../../support/agent.js";
import { useCores } from "../../support/core.js";
import { openApi } from "./api.js";

const core = useCores();
const schema = { type: "object", properties: { town: { type: "string" } }, required: ["town"] };
const asked = { type: "json_schema", name: "place", schema, strict: true };

describe("text.format", () => {
  test("json_schema reaches the model, and is echoed with every key", async () => {
    const model = { ...replies(said('{"town":"Ulm"}')), formats: ["json_schema" as const] };
    const created = await openApi(core({ model })).create({ input: "Where?", text: { format: asked } });
    await created.events();
    expect(model.requests[0]?.format).toEqual({ ...asked, description: "" });
    expect(await created.response()).toMatchObject({ text: { format: { ...asked, description: null } } });
  });

  test("json_object reaches the model, and is echoed", async () => {
    const model = { ...replies(said("{}")), formats: ["json_object" as const] };
    const created = await openApi(core({ model })).create({
      input: "JSON?",
      text: { format: { type: "json_object" } },
    });
    await created.events();
    expect(model.requests[0]?.format).toEqual({ type: "json_object" });
    expect(await created.response()).toMatchObject({ text: { format: { type: "json_object" } } });
  });

  test("text is nothing to ask for", async () => {
    const model = replies(said("Ulm."));
    const created = await openApi(core({ model })).create({ input: "Where?", text: { format: { type: "text" } } });
    await created.events();
    expect(model.requests[0]).not.toHaveProperty("format");
  });

  test("holds for every reply of the run, also after a restart of the server", async () => {
    const weather = { type: "function", name: "weather", parameters: { type: "object" } };
    const formats = ["json_schema" as const];
    const call = [
      { type: "tool_call" as const, index: 0, name: "weather", input: "{}" },
      { type: "end" as const, reason: "tool_calls" as const, providerReason: "" },
    ];
    const opened = core({ model: { ...replies(call), formats } });
    const first = await openApi(opened).create({ input: "Where?", tools: [weather], text: { format: asked } });
    const [item] = (await first.events()).flatMap(({ frame }) =>
      frame.type === "response.output_item.done" ? [frame["item"] as { call_id: string }] : [],
    );
    const model = { ...replies(said('{"town":"Ulm"}')), formats };
    const second = await openApi(core({ model, log: opened.log })).create({
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: item!.call_id, output: "rain" }],
      text: { format: asked },
    });
    await second.events();
    expect(model.requests[0]?.format).toMatchObject({ type: "json_schema", schema });
  });

  test.each(["json_object", "json_schema"])("%s is refused by name where the model cannot", async (type) => {
    const format = type === "json_schema" ? asked : { type };
    const { create } = openApi(core({ model: replies() }));
    await expect(create({ input: "Where?", text: { format } })).rejects.toMatchObject({
      code: "invalid_field",
      detail: { field: "options.text_format", rule: expect.stringContaining("test:model does not support") },
    });
  });

  test("a schema that is too long, and a name that is none, are refused", async () => {
    const model = { ...replies(), formats: ["json_schema" as const] };
    const { create } = openApi(core({ model }));
    const long = { ...asked, schema: { description: "a".repeat(70_000) } };
    await expect(create({ input: "?", text: { format: long } })).rejects.toMatchObject({ code: "invalid_field" });
    await expect(create({ input: "?", text: { format: { ...asked, name: "a b" } } })).rejects.toMatchObject({
      param: "text.format.name",
    });
  });
});
