// Finds any of many words in one pass (Aho and Corasick 1975). A node stands for the longest end of the text so far that
// is the beginning of a word; node 0 stands for none. Steps are amortised: never more than two per unit of text.
// Nodes are numbered by depth. The first ones, where nearly all text stands, have a row in a table; the others share a map.

/** Entries of the table. */
const tableEntries = 1 << 18;

export const noWord = -1;

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

  /** Contract: no word is empty. */
  constructor(words: readonly string[]) {
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
