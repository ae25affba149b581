/**
 * All fields of a message, the optional ones too: for copies that are written out, so that the compiler names a field that was added and
 * is not copied. Messages on the way of every event are copied like this, each with a place for everything. A copy of whatever shape came
 * (`{ ...message }`, and a field more) is several times slower, and whatever looks at it afterwards meets a shape that it does not know.
 */
export type EveryField<Message> = { [Name in keyof Required<Message>]: Message[Name] };
