// A certificate for 127.0.0.1 that nobody knows, made for one run of a suite. Needs openssl.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly pem: string;
  remove(): void;
}

export function selfSigned(): Certificate {
  const directory = mkdtempSync(join(tmpdir(), "heddle-tls-"));
  const [keyFile, certFile] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const pair = [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-keyout",
    keyFile,
    "-out",
    certFile,
  ];
  execFileSync("openssl", ["req", "-x509", "-days", "2", ...pair, ...subject], { stdio: "ignore" });
  return {
    certFile,
    keyFile,
    pem: readFileSync(certFile, "utf8"),
    remove: () => rmSync(directory, { recursive: true }),
  };
}
