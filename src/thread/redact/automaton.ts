// Finds any of many words in one pass (Aho and Corasick 1975). A node stands for the longest end of the text so far that
// is the beginning of a word; node 0 stands for none. Steps are amortised: never more than two per unit of text.
// Most text holds nothing of the kind: `skip` goes over it with a regular expression, which is many times as fast as a step a unit.
// Nodes are numbered by depth. The first ones, where nearly all text stands, have a row in a table; the others share a map.

/** Entries of the table. */
const tableEntries = 1 << 18;

export const noWord = -1;

/** Words are looked for by so much of their beginning, and with so many different ones. Beyond that, steps are as good. */
const finding = { units: 8, beginnings: 64 } as const;

export class Automaton {
  /** The column of each UTF-16 unit; 0 for those in no word. */
  readonly #column = new Uint16Array(0x10000);
  readonly #columns: number;
  readonly #table: Int32Array;
  /** How many nodes have a row. */
  readonly #rows: number;
  /** Edges of the other nodes. */
  readonly #edges = new Map<number, number>();
  /** The node of the next shorter end of the text. */
  readonly #shorter: number[] = [];
  readonly #depth: number[] = [];
  readonly #word: number[] = [];
  readonly #finder: RegExp | undefined;
  readonly #isEmpty: boolean;

  /** Contract: no word is empty. */
  constructor(words: readonly string[]) {
    this.#finder = finderOf(words);
    this.#isEmpty = words.length === 0;
    const { root, nodes, units } = trieOf(words);
    for (const [index, unit] of [...units].entries()) this.#column[unit] = index + 1;
    this.#columns = units.size + 1;
    this.#rows = Math.max(1, Math.min(nodes, Math.floor(tableEntries / this.#columns)));
    this.#table = new Int32Array(this.#rows * this.#columns);
    this.#number(root);
  }

  step(node: number, unit: number): number {
    const column = this.#column[unit]!;
    if (column === 0) return 0;
    for (let at = node; ; at = this.#shorter[at]!) {
      if (at < this.#rows) return this.#table[at * this.#columns + column]!;
      const next = this.#edges.get(at * this.#columns + column);
      if (next !== undefined) return next;
    }
  }

  /**
   * Contract: the node is 0 at `at`. The place up to which nothing has to be looked at: it is 0 there as well, or would be left
   * again without a word.
   */
  skip(text: string, at: number): number {
    if (this.#isEmpty) return text.length;
    if (!this.#finder) return at;
    this.#finder.lastIndex = at;
    // At the end, a word may have begun that the next piece goes on with.
    return this.#finder.exec(text)?.index ?? Math.max(at, text.length - finding.units + 1);
  }

  /** False: no word is in the text. */
  mayHold(text: string): boolean {
    if (this.#isEmpty) return false;
    if (!this.#finder) return true;
    this.#finder.lastIndex = 0;
    return this.#finder.test(text);
  }

  /** How many units of a word have been seen. */
  depth(node: number): number {
    return this.#depth[node]!;
  }

  /** Index of the longest word that ends here; `noWord` when none does. */
  word(node: number): number {
    return this.#word[node]!;
  }

  /** Breadth first: a node's shorter end is less deep than the node, so its row is filled in by then. */
  #number(root: TrieNode): void {
    const queue = [root];
    this.#add(root, 0, 0);
    for (let node = 0; node < queue.length; node++) {
      const shorter = this.#shorter[node]!;
      const row = node * this.#columns;
      if (node > 0 && node < this.#rows) {
        this.#table.copyWithin(row, shorter * this.#columns, (shorter + 1) * this.#columns);
      }
      for (const [unit, child] of queue[node]!.children) {
        this.#add(child, this.#depth[node]! + 1, node === 0 ? 0 : this.step(shorter, unit));
        const edge = row + this.#column[unit]!;
        if (node < this.#rows) this.#table[edge] = queue.length;
        else this.#edges.set(edge, queue.length);
        queue.push(child);
      }
    }
  }

  #add(node: TrieNode, depth: number, shorter: number): void {
    this.#shorter.push(shorter);
    this.#depth.push(depth);
    this.#word.push(node.word === noWord ? (this.#word[shorter] ?? noWord) : node.word);
  }
}

function finderOf(words: readonly string[]): RegExp | undefined {
  const beginnings = [...new Set(words.map((word) => word.slice(0, finding.units)))];
  if (beginnings.length === 0 || beginnings.length > finding.beginnings) return undefined;
  return new RegExp(beginnings.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"), "g");
}

interface TrieNode {
  readonly children: Map<number, TrieNode>;
  word: number;
}

function trieOf(words: readonly string[]): { root: TrieNode; nodes: number; units: Set<number> } {
  const root: TrieNode = { children: new Map(), word: noWord };
  const units = new Set<number>();
  let nodes = 1;
  for (const [index, word] of words.entries()) {
    let node = root;
    for (let at = 0; at < word.length; at++) {
      const unit = word.charCodeAt(at);
      units.add(unit);
      let child = node.children.get(unit);
      if (child === undefined) {
        child = { children: new Map(), word: noWord };
        node.children.set(unit, child);
        nodes++;
      }
      node = child;
    }
    node.word = index;
  }
  return { root, nodes, units };
}
