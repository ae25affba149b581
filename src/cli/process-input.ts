// What is typed at the process's terminal. While keys are read one by one the terminal does nothing by itself: it shows none of
// them, and makes no signal of Ctrl-C. That is made up for here, and undone however the process ends.
import { StringDecoder } from "node:string_decoder";
import { isatty } from "node:tty";
import type { Input } from "./io.js";

const ctrlC = "\u0003";

export const processInput = (): Input => ({
  // Not process.stdin's: asking it would open it, for commands that read nothing.
  isTTY: isatty(0),
  onTyped(mode, listener) {
    const { stdin } = process;
    const decoder = new StringDecoder("utf8");
    const take = (data: Buffer) => {
      const [before, ...after] = decoder.write(data).split(ctrlC);
      if (before !== "") listener(before!);
      if (after.length > 0) process.kill(process.pid, "SIGINT");
    };
    const isRaw = mode === "keys" && isatty(0);
    const restore = () => {
      if (isRaw) stdin.setRawMode(false);
    };
    if (isRaw) stdin.setRawMode(true);
    process.on("exit", restore);
    stdin.on("data", take).resume();
    return () => {
      stdin.off("data", take).pause();
      process.off("exit", restore);
      restore();
    };
  },
});
