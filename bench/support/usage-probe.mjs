// Loaded into every process that is measured: answers how much CPU it has used, and ends it with its parent. Plain
// JavaScript, so that the server under test runs as it is installed, without a loader.
process.on("message", (message) => {
  if (message.ask !== "usage") return;
  const { user, system } = process.cpuUsage();
  process.send?.({ id: message.id, reply: { cpuUs: user + system } });
});
process.once("disconnect", () => process.exit());
process.channel?.unref();
