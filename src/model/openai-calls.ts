// Which call a piece belongs to (M2). The wire says it by `index`; servers that imitate it leave the index out, give every
// call index 0, leave the id out, send it late or again with every piece. An id is told once, and so is every part of a name.
import type { ModelEvent } from "./model.js";
import { countOf, type Fields, fieldsOf, parsedObject, textOf } from "./wire-values.js";

interface Call {
  readonly index: number;
  /** The provider's index. Undefined: it gave none. */
  readonly place: number | undefined;
  id: string;
  name: string;
  hasInput: boolean;
  /** Its first piece held the name and the whole input. */
  isWhole: boolean;
}

interface Piece {
  readonly place: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

export class CallPieces {
  readonly #calls: Call[] = [];
  /** The call that was last written to at a place. */
  readonly #latest = new Map<number | undefined, Call>();

  get count(): number {
    return this.#calls.length;
  }

  *read(fields: Fields): Generator<ModelEvent> {
    const piece = pieceOf(fields);
    const call = this.#continued(piece) ?? this.#begun(piece);
    this.#latest.set(call.place, call);
    const id = call.id === "" ? piece.id : "";
    // A name may come in parts, all before the input. One that comes later, or is the same, is said again.
    const name = call.hasInput && call.name !== "" ? "" : piece.name === call.name ? "" : piece.name;
    call.id ||= id;
    call.name += name;
    call.hasInput ||= piece.input !== "";
    if (id === "" && name === "" && piece.input === "") return;
    yield {
      type: "tool_call",
      index: call.index,
      ...(id !== "" && { id }),
      ...(name !== "" && { name }),
      ...(piece.input !== "" && { input: piece.input }),
    };
  }

  /** For the end of a whole reply: a call for which nothing was written takes nothing. */
  emptyInputs(): readonly ModelEvent[] {
    return this.#calls
      .filter(({ hasInput }) => !hasInput)
      .map(({ index }) => ({ type: "tool_call", index, input: "{}" }));
  }

  /** The call that the piece goes on with. Undefined: it begins one. */
  #continued(piece: Piece): Call | undefined {
    const here = piece.place === undefined ? this.#calls.at(-1) : this.#latest.get(piece.place);
    if (here === undefined) return undefined;
    if (piece.id === "" || here.id === "") return beginsAnother(piece, here) ? undefined : here;
    if (piece.id === here.id) return here;
    const isHere = ({ place }: Call): boolean => piece.place === undefined || piece.place === place;
    const known = this.#calls.find((call) => call.id === piece.id && isHere(call));
    // A new id begins a call when it comes with a name. Without one it is a server that makes up an id for every piece;
    // but where there is no index, the id is all there is to go by.
    return known ?? (piece.name !== "" || piece.place === undefined ? undefined : here);
  }

  #begun({ place, name, input }: Piece): Call {
    const isWhole = name !== "" && parsedObject(input) !== undefined;
    const call: Call = { index: this.#calls.length, place, id: "", name: "", hasInput: false, isWhole };
    this.#calls.push(call);
    return call;
  }
}

/** Without ids: a name after the input of a call, unless it is the name of that call, which did not come whole. */
const beginsAnother = ({ name }: Piece, here: Call): boolean =>
  name !== "" && here.name !== "" && here.hasInput && (name !== here.name || here.isWhole);

function pieceOf(fields: Fields): Piece {
  const { name, arguments: input } = fieldsOf(fields["function"]);
  return {
    place: countOf(fields["index"]),
    id: textOf(fields["id"]),
    name: textOf(name),
    input: typeof input === "object" && input !== null ? JSON.stringify(input) : textOf(input),
  };
}
