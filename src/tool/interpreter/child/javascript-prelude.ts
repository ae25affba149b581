// The JavaScript around the code of others: what it can call, and how values are written out. It is a function of what the thread
// offers, and returns the function that writes a value out.
export const javascriptPrelude = String.raw`
((print, read, write, list, remove) => {
  const deepest = 4, most = 100;
  const show = (value, depth = 0, seen = []) => {
    if (typeof value === "string") return depth === 0 ? value : JSON.stringify(value);
    if (typeof value === "bigint") return value + "n";
    if (typeof value === "function") return "[Function " + (value.name || "anonymous") + "]";
    if (typeof value !== "object" || value === null) return String(value);
    if (seen.includes(value)) return "[Circular]";
    if (value instanceof Error) return value + (value.stack ? "\n" + value.stack.trimEnd() : "");
    if (value instanceof Date) return isNaN(value) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (depth >= deepest) return Array.isArray(value) ? "[Array]" : "[Object]";
    const inner = (item) => show(item, depth + 1, [...seen, value]);
    const listed = (items, shown) => items.slice(0, most).map(shown).concat(items.length > most ? ["… " + (items.length - most) + " more"] : []).join(", ");
    if (Array.isArray(value)) return "[" + listed(value, inner) + "]";
    if (ArrayBuffer.isView(value) && value.length !== undefined) return value.constructor.name + " [" + listed(Array.from(value.subarray(0, most + 1)), inner) + "]";
    if (value instanceof Map) return "Map {" + listed([...value], ([key, item]) => inner(key) + " => " + inner(item)) + "}";
    if (value instanceof Set) return "Set {" + listed([...value], inner) + "}";
    const kind = value.constructor && value.constructor.name;
    const entries = listed(Object.entries(value), ([key, item]) => (/^[\w$]+$/.test(key) ? key : JSON.stringify(key)) + ": " + inner(item));
    return (kind && kind !== "Object" ? kind + " " : "") + (entries === "" ? "{}" : "{ " + entries + " }");
  };
  const line = (stream) => (...values) => print(stream, values.map((value) => show(value)).join(" ") + "\n");
  const [out, error] = [line("stdout"), line("stderr")];
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  define("console", { log: out, info: out, debug: out, warn: error, error, dir: out, table: out });
  define("readFile", (path, as) => (as === "bytes" ? new Uint8Array(read(String(path), true)) : read(String(path), false)));
  define("writeFile", (path, data) => write(String(path), ArrayBuffer.isView(data) ? data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) : data instanceof ArrayBuffer ? data : String(data)));
  define("listFiles", () => JSON.parse(list()));
  define("deleteFile", (path) => remove(String(path)));
  return (value) => (typeof value === "string" ? JSON.stringify(value) : show(value));
})
`;
