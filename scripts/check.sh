#!/usr/bin/env bash
# Everything that can be checked without running the program: format, lint, types, schema, generated code.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "format and lint"
npx biome ci .

step "types"
npx tsc --noEmit -p tsconfig.json

step "schema: format and lint"
npx buf format --diff --exit-code --path proto/heddle
npx buf lint

step "schema: breaking changes since the last release"
npx buf breaking --against proto/released.binpb

step "generated code is what the schema generates"
before=$(find gen -type f -exec sha256sum {} + | sort)
npx buf generate
after=$(find gen -type f -exec sha256sum {} + | sort)
if [ "$before" != "$after" ]; then
  echo "gen/ was not what the schema generates. It is now: commit it." >&2
  exit 1
fi

step "docs/openapi.json is what the server serves"
before=$(sha256sum docs/openapi.json)
node --import tsx scripts/openapi.mjs
if [ "$before" != "$(sha256sum docs/openapi.json)" ]; then
  echo "docs/openapi.json was not what the code describes. It is now: commit it." >&2
  exit 1
fi

echo
echo "All checks passed."
