// What is to be done behind the turn in which it was asked for, unless it is called off before. Most of it is: one immediate of Node's
// serves all that is asked for in a turn, because one for each that is taken back again is dear. All of it runs in the async context of
// whoever asked first.
import { setImmediate } from "node:timers"; // Node's own, also where a test has put another in its place for a while.

interface Task {
  run: (() => void) | undefined;
}

let tasks: Task[] = [];

/** Returns what calls it off. */
export function behindTurn(run: () => void): () => void {
  const task: Task = { run };
  if (tasks.push(task) === 1) setImmediate(runTasks);
  return () => {
    task.run = undefined;
  };
}

/** What is asked for meanwhile is for the next turn. Should one throw, the others are still there. */
function runTasks(): void {
  const due = tasks;
  tasks = [];
  let at = 0;
  try {
    while (at < due.length) due[at++]!.run?.();
  } finally {
    for (const task of due.slice(at)) behindTurn(() => task.run?.());
  }
}
