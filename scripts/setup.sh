#!/usr/bin/env bash
# Installs the system packages that the tests use. As root on Debian or Ubuntu it installs them; elsewhere it says what to
# install. Tests whose tool is missing are skipped by name, except under CI=true, where that is a failure.
set -euo pipefail

# package:what it is for:how to see that it is there
needed=(
  "python3-grpcio:a gRPC client and producer in another language:/usr/bin/python3 -c 'import grpc'"
  "python3-protobuf:messages for it, made from the server's reflection:/usr/bin/python3 -c 'import google.protobuf'"
  "strace:the order of writes and flushes, and failing disks:command -v strace"
  "openssl:certificates for the TLS tests:command -v openssl"
  "git:the tools that look at a repository:command -v git"
  "bubblewrap:the sandbox of commands:command -v bwrap"
)

missing=()
for entry in "${needed[@]}"; do
  IFS=: read -r package purpose probe <<<"$entry"
  if bash -c "$probe" >/dev/null 2>&1; then
    echo "have     $package ($purpose)"
  else
    echo "missing  $package ($purpose)"
    missing+=("$package")
  fi
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "Everything that the tests use is there."
elif [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "Installing ${missing[*]} …"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
  echo "Done."
else
  echo
  echo "Install them to run every test. On Debian or Ubuntu:"
  echo "  sudo apt-get install ${missing[*]}"
  echo "Elsewhere, by the names your system gives them. Without them the tests that need them are skipped by name."
fi
