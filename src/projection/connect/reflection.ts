// gRPC server reflection, v1 and v1alpha: one answer to each query, the two versions differ in their names alone.

import type { DescService } from "@bufbuild/protobuf";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import {
  type ServerReflectionRequest as QueryV1,
  ServerReflection as V1,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import {
  type ServerReflectionRequest as QueryV1Alpha,
  ServerReflection as V1Alpha,
} from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { type DescriptorIndex, indexDescriptors } from "./descriptor-index.js";

/** Describes the given services, and those that every server has: health and reflection itself. */
export function registerReflection(router: ConnectRouter, services: readonly DescService[]): void {
  const index = indexDescriptors([...services, Health, V1, V1Alpha]);
  const serverReflectionInfo = <Query extends QueryV1 | QueryV1Alpha>(queries: AsyncIterable<Query>) =>
    answers(index, queries);
  router.service(V1, { serverReflectionInfo });
  router.service(V1Alpha, { serverReflectionInfo });
}

async function* answers<Query extends QueryV1 | QueryV1Alpha>(index: DescriptorIndex, queries: AsyncIterable<Query>) {
  for await (const query of queries) {
    yield { validHost: query.host, originalRequest: query, messageResponse: answer(index, query.messageRequest) };
  }
}

function answer(index: DescriptorIndex, query: (QueryV1 | QueryV1Alpha)["messageRequest"]) {
  switch (query.case) {
    case "fileByFilename":
      return files(index.fileNamed(query.value), `no file is named "${query.value}"`);
    case "fileContainingSymbol":
      return files(index.fileOf(query.value), `nothing is named "${query.value}"`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = query.value;
      const file = index.fileOfExtension(containingType, extensionNumber);
      return files(file, `"${containingType}" has no extension ${extensionNumber}`);
    }
    case "allExtensionNumbersOfType": {
      const extensionNumber = index.extensionNumbers(query.value);
      if (!extensionNumber) return failed(Code.NotFound, `no message is named "${query.value}"`);
      return { case: "allExtensionNumbersResponse" as const, value: { baseTypeName: query.value, extensionNumber } };
    }
    case "listServices":
      return {
        case: "listServicesResponse" as const,
        value: { service: index.serviceNames.map((name) => ({ name })) },
      };
    case undefined:
      return failed(Code.InvalidArgument, "the request asks for nothing: set one of its cases");
  }
}

const files = (fileDescriptorProto: Uint8Array[] | undefined, otherwise: string) =>
  fileDescriptorProto
    ? { case: "fileDescriptorResponse" as const, value: { fileDescriptorProto } }
    : failed(Code.NotFound, otherwise);

/** An error of one query: the stream goes on. */
const failed = (errorCode: Code, errorMessage: string) => ({
  case: "errorResponse" as const,
  value: { errorCode, errorMessage },
});
