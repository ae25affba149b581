// What reflection looks things up in: every file behind a list of services, by name, by symbol and by extension.
import { type DescExtension, type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** A file comes with everything it imports, itself first, each as an encoded FileDescriptorProto. */
export interface DescriptorIndex {
  readonly serviceNames: readonly string[];
  /** By a name such as `heddle/v1/event.proto`. */
  fileNamed(name: string): Uint8Array[] | undefined;
  /** By the full name of a message, field, enum, enum value, extension, service or method. */
  fileOf(symbol: string): Uint8Array[] | undefined;
  fileOfExtension(typeName: string, number: number): Uint8Array[] | undefined;
  /** Undefined for a message that is not there. */
  extensionNumbers(typeName: string): number[] | undefined;
}

export function indexDescriptors(services: readonly DescService[]): DescriptorIndex {
  const files = withImports(services.map((service) => service.file));
  const named = new Map(files.map((file) => [file.proto.name, file]));
  const symbols = new Map<string, DescFile>();
  const extensions = new Map<string, Map<number, DescExtension>>();

  for (const file of files) {
    for (const type of nestedTypes(file)) {
      for (const name of symbolsOf(type)) symbols.set(name, file);
      if (type.kind === "message" && !extensions.has(type.typeName)) extensions.set(type.typeName, new Map());
      if (type.kind === "extension") numbersOf(extensions, type.extendee.typeName).set(type.number, type);
    }
  }

  const encodings = new Map<DescFile, Uint8Array>();
  const encode = (file: DescFile): Uint8Array => {
    const bytes = encodings.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
    encodings.set(file, bytes);
    return bytes;
  };
  const encoded = (file: DescFile | undefined) => file && withImports([file]).map(encode);

  return {
    serviceNames: [...new Set(services.map((service) => service.typeName))].sort(),
    fileNamed: (name) => encoded(named.get(name)),
    fileOf: (symbol) => encoded(symbols.get(symbol)),
    fileOfExtension: (typeName, number) => encoded(extensions.get(typeName)?.get(number)?.file),
    extensionNumbers: (typeName) => {
      const numbers = extensions.get(typeName);
      return numbers && [...numbers.keys()].sort((a, b) => a - b);
    },
  };
}

/** The files and all they import, each once, every importer before its imports: added in reverse, each finds what it needs. */
function withImports(files: readonly DescFile[]): DescFile[] {
  const ordered = new Set<DescFile>();
  const visit = (file: DescFile): void => {
    if (ordered.has(file)) return;
    file.dependencies.forEach(visit);
    ordered.add(file);
  };
  files.forEach(visit);
  return [...ordered].reverse();
}

function symbolsOf(type: ReturnType<typeof nestedTypes> extends Iterable<infer Type> ? Type : never): string[] {
  switch (type.kind) {
    case "message":
      return [type.typeName, ...type.fields.map((field) => `${type.typeName}.${field.name}`)];
    case "service":
      return [type.typeName, ...type.methods.map((method) => `${type.typeName}.${method.name}`)];
    case "enum": {
      const scope = type.typeName.slice(0, -type.name.length); // Values live beside their enum, not in it.
      return [type.typeName, ...type.values.map((value) => `${scope}${value.name}`)];
    }
    case "extension":
      return [type.typeName];
  }
}

function numbersOf(extensions: Map<string, Map<number, DescExtension>>, typeName: string): Map<number, DescExtension> {
  const numbers = extensions.get(typeName) ?? new Map<number, DescExtension>();
  extensions.set(typeName, numbers);
  return numbers;
}
