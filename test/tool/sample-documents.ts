// Documents for file_search in tests of all tools: one passage that is always found.
import type { DocumentAnswer, DocumentSearch } from "../../src/tool/documents/document-search.js";

const answer: DocumentAnswer = {
  passages: [
    {
      collection: "default",
      documentName: "handbook.md",
      firstLine: 12,
      lastLine: 30,
      page: undefined,
      headings: ["Refunds", "Late"],
      text: "Late refunds take 30 days.\nAsk again after that.",
      score: 3.5,
    },
  ],
  ranking: "text",
};

export const sampleDocuments: DocumentSearch = { count: async () => 1, search: async () => answer };
