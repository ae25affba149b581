// What V8 is told before anything else of ours is loaded. Imported for its effect, and first.
import { setFlagsFromString } from "node:v8";

// V8 notes where objects are made that live long, and makes later ones of the same place old from the start. All protobuf
// messages are made in one place, and the first of them, the descriptors, live for ever: every request after them would be
// old garbage, keep the young texts it holds alive until they are old too, and wait for a major collection.
setFlagsFromString("--no-allocation-site-pretenuring");
