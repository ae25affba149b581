// No way in: asserted where it counts, at the connector, which must never be asked for an address that is not public.
import type { RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import { guardedFetch } from "../../../src/tool/web/guarded-fetch.js";
import { FakeNetwork, LocalServer, options, publicAddress } from "./support.js";

/** Refused by its looks: nobody is asked for a name, nothing is connected to. */
const byLooks: readonly (readonly [what: string, url: string])[] = [
  ["loopback", "http://127.0.0.1/"],
  ["loopback, another of its many", "http://127.8.9.10/"],
  ["a short spelling", "http://127.1/"],
  ["a shorter spelling", "http://127/"],
  ["decimal", "http://2130706433/"],
  ["hexadecimal", "http://0x7f000001/"],
  ["hexadecimal parts", "http://0x7f.0x0.0x0.0x1/"],
  ["mixed spellings", "http://0x7f.1/"],
  ["octal", "http://0177.0.0.1/"],
  ["octal, whole", "http://017700000001/"],
  ["zero", "http://0/"],
  ["zeros", "http://0.0.0.0/"],
  ["digits in circles", "http://①②⑦.⓪.⓪.①/"],
  ["full-width digits", "http://１２７.0.0.1/"],
  ["ideographic full stops", "http://127。0。0。1/"],
  ["percent-encoded digits", "http://%31%32%37.0.0.1/"],
  ["a dot at the end", "http://127.0.0.1./"],
  ["a tab inside", "http://127.0.0\t.1/"],
  ["no slashes", "http:127.0.0.1/"],
  ["backslashes", "http:\\\\127.0.0.1\\"],
  ["private 10/8", "http://10.0.0.1/"],
  ["private 172.16/12", "http://172.31.255.255/"],
  ["private 192.168/16", "https://192.168.1.1/"],
  ["a carrier's own", "http://100.100.100.200/"],
  ["link-local: metadata", "http://169.254.169.254/latest/meta-data/"],
  ["metadata in decimal", "http://2852039166/"],
  ["a cloud's own service", "http://168.63.129.16/"],
  ["protocol assignments", "http://192.0.0.192/"],
  ["documentation", "http://192.0.2.1/"],
  ["more documentation", "http://203.0.113.1/"],
  ["benchmarks", "http://198.19.255.255/"],
  ["multicast", "http://239.255.255.250/"],
  ["reserved", "http://250.1.2.3/"],
  ["broadcast", "http://255.255.255.255/"],
  ["IPv6 unspecified", "http://[::]/"],
  ["IPv6 loopback", "http://[::1]/"],
  ["IPv6 loopback, written out", "http://[0:0:0:0:0:0:0:1]/"],
  ["IPv4 mapped", "http://[::ffff:127.0.0.1]/"],
  ["IPv4 mapped, in hexadecimal", "http://[::ffff:7f00:1]/"],
  ["IPv4 mapped, a public one", "http://[::ffff:8.8.8.8]/"],
  ["IPv4 compatible", "http://[::127.0.0.1]/"],
  ["IPv4 translated", "http://[::ffff:0:127.0.0.1]/"],
  ["NAT64", "http://[64:ff9b::7f00:1]/"],
  ["NAT64, local", "http://[64:ff9b:1::a00:1]/"],
  ["6to4", "http://[2002:7f00:1::]/"],
  ["Teredo", "http://[2001:0:7f00:1::1]/"],
  ["IPv6 unique local", "http://[fd00:ec2::254]/"],
  ["IPv6 unique local, the other half", "http://[fc00::1]/"],
  ["IPv6 link-local", "http://[fe80::1]/"],
  ["IPv6 site-local", "http://[fec0::1]/"],
  ["IPv6 multicast", "http://[ff02::1]/"],
  ["IPv6 documentation", "http://[2001:db8::1]/"],
  ["IPv6 documentation, new", "http://[3fff::1]/"],
  ["IPv6 discard", "http://[100::1]/"],
  ["IPv6 segment routing", "http://[5f00::1]/"],
  ["localhost", "http://localhost/"],
  ["localhost with a dot", "http://localhost./"],
  ["localhost in capitals", "http://LOCALHOST/"],
  ["localhost in circles", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/"],
  ["below localhost", "http://api.localhost:8080/"],
  ["mail", "http://example.com:25/"],
  ["a database", "http://example.com:6379/"],
  ["ssh", "https://example.com:22/"],
  ["port 0", "http://example.com:0/"],
];

/** No addresses of the web at all. */
const malformed: readonly (readonly [what: string, url: string])[] = [
  ["a name before the host", "http://example.com@127.0.0.1/"],
  ["a name and a password", "https://user:secret@example.com/"],
  ["a trick with signs", "http://1.1.1.1&@2.2.2.2#@3.3.3.3/"],
  ["an IPv6 zone", "http://[fe80::1%25eth0]/"],
  ["an IPv6 zone, bare", "http://[fe80::1%eth0]/"],
  ["a number too large", "http://256.256.256.256/"],
  ["too many parts", "http://127.0.0.1.5/"],
  ["a file", "file:///etc/passwd"],
  ["gopher", "gopher://127.0.0.1:6379/_FLUSHALL"],
  ["ftp", "ftp://127.0.0.1/"],
  ["data", "data:text/plain,a"],
  ["script", "javascript:alert(1)"],
  ["a blob", "blob:http://127.0.0.1/x"],
  ["no scheme", "example.com"],
  ["nothing", ""],
  ["too long", `https://example.com/${"a".repeat(5_000)}`],
];

describe("refused before anybody is asked", () => {
  test.each(byLooks)("%s: %s", async (_, url) => {
    const network = new FakeNetwork();
    await expect(guardedFetch(url, options({ network }))).rejects.toMatchObject({ code: "EBLOCKED" });
    expect({ asked: network.asked, connections: network.connections }).toEqual({ asked: [], connections: [] });
  });

  test.each(malformed)("%s: %s", async (_, url) => {
    const network = new FakeNetwork();
    const failure = await guardedFetch(url, options({ network })).catch((reason: Error) => reason);
    expect(failure).toMatchObject({ code: "EBADURL" });
    expect((failure as Error).message).not.toContain("secret");
    expect({ asked: network.asked, connections: network.connections }).toEqual({ asked: [], connections: [] });
  });
});

describe("refused by what a name leads to", () => {
  test.each([
    ["loopback", ["127.0.0.1"]],
    ["metadata", ["169.254.169.254"]],
    ["IPv6 loopback", ["::1"]],
    ["mapped loopback", ["::ffff:127.0.0.1"]],
    ["link-local with a zone", ["fe80::1%eth0"]],
    ["a public address with a zone", ["2606:2800:220:1::1%eth0"]],
    ["public and private", [publicAddress, "10.0.0.1"]],
    ["private and public", ["10.0.0.1", publicAddress]],
    ["public IPv4 and unique local IPv6", [publicAddress, "fd00::1"]],
    ["a hundred public and one private", [...Array<string>(100).fill(publicAddress), "192.168.0.1"]],
    ["no address at all", ["not-an-address"]],
    ["an address in decimal", ["2130706433"]],
  ])("%s", async (_, addresses) => {
    const network = new FakeNetwork({ "rebind.example": [addresses] });
    await expect(guardedFetch("http://rebind.example/", options({ network }))).rejects.toMatchObject({
      code: "EBLOCKED",
      message: expect.not.stringMatching(/10\.0|127\.0|169\.254|192\.168|fd00/),
    });
    expect(network.connections).toEqual([]);
  });

  test("a name that changes its mind is asked once: the second answer is never heard", async () => {
    await using server = await LocalServer.start((_, response) => response.end("hello"));
    const network = new FakeNetwork({ "rebind.example": [[publicAddress], ["127.0.0.1"]] }, server.port);
    const { body } = await guardedFetch("http://rebind.example/", options({ network }));
    expect(body.toString()).toBe("hello");
    expect({ asked: network.asked, connections: network.connections }).toEqual({
      asked: ["rebind.example"],
      connections: [publicAddress],
    });
  });

  test("a redirect to the same name asks anew, and its private answer is refused", async () => {
    await using server = await LocalServer.start(redirectTo("/again"));
    const network = new FakeNetwork({ "rebind.example": [[publicAddress], ["127.0.0.1"]] }, server.port);
    await expect(guardedFetch("http://rebind.example/", options({ network }))).rejects.toMatchObject({
      code: "EBLOCKED",
    });
    expect(network.connections).toEqual([publicAddress]);
  });

  test("of many public addresses a few are tried", async () => {
    const network = new FakeNetwork({
      "many.example": [Array.from({ length: 50 }, (_, index) => `93.184.216.${index + 1}`)],
    });
    await expect(guardedFetch("http://many.example/", options({ network }))).rejects.toMatchObject({
      code: "ECONNECT",
    });
    expect(network.connections).toEqual(["93.184.216.1", "93.184.216.2", "93.184.216.3", "93.184.216.4"]);
  });
});

describe("redirects", () => {
  test.each([
    // "http:127.0.0.1/" is a path of the page that it stands on.
    ...byLooks.map(([, url]) => url).filter((url) => url !== "http:127.0.0.1/"),
    "//127.0.0.1/",
    "//[::1]/",
    "/\\127.0.0.1/",
    "http://internal.example/",
  ])("to %s are refused", async (location) => {
    await using server = await LocalServer.start(redirectTo(location));
    const names = { "public.example": [[publicAddress]], "internal.example": [["10.1.2.3"]] };
    const network = new FakeNetwork(names, server.port);
    const failure = guardedFetch("http://public.example/", options({ network }));
    await expect(failure).rejects.toMatchObject({ code: expect.stringMatching(/^(?:EBLOCKED|EBADURL)$/) });
    expect(network.connections).toEqual([publicAddress]);
  });

  test.each(["file:///etc/passwd", "gopher://127.0.0.1/", "http://a:b@public.example/", "data:text/plain,a"])(
    "to %s are refused",
    async (location) => {
      await using server = await LocalServer.start(redirectTo(location));
      const network = new FakeNetwork({ "public.example": [[publicAddress]] }, server.port);
      await expect(guardedFetch("http://public.example/", options({ network }))).rejects.toMatchObject({
        code: "EBADURL",
      });
      expect(network.connections).toEqual([publicAddress]);
    },
  );

  test("in a circle end after five", async () => {
    await using server = await LocalServer.start(redirectTo("/"));
    const network = new FakeNetwork({ "public.example": [[publicAddress]] }, server.port);
    await expect(guardedFetch("http://public.example/", options({ network }))).rejects.toMatchObject({
      code: "EREDIRECT",
      message: "public.example leads on more than 5 times; choose another source",
    });
    expect(network.connections).toHaveLength(6);
  });
});

describe("allowHosts", () => {
  test("opens exactly the host and the port that it names", async () => {
    await using server = await LocalServer.start((_, response) => response.end("wiki"));
    const allowHosts = [`127.0.0.1:${server.port}`];
    const { body } = await guardedFetch(`http://${server.host}/`, options({ allowHosts }));
    expect(body.toString()).toBe("wiki");
    const network = new FakeNetwork({}, server.port);
    for (const url of [
      `http://127.0.0.1:${server.port + 1}/`,
      `http://127.0.0.2:${server.port}/`,
      `http://localhost:${server.port}/`,
    ])
      await expect(guardedFetch(url, options({ allowHosts, network }))).rejects.toMatchObject({ code: "EBLOCKED" });
    expect(network.connections).toEqual([]);
  });

  test("opens a name with private addresses, whatever its spelling", async () => {
    await using server = await LocalServer.start((_, response) => response.end("wiki"));
    for (const [entry, url] of [
      ["Wiki.Intranet:80", "http://wiki.intranet/"],
      ["wiki.intranet:80", "http://WIKI.intranet./"],
    ] as const) {
      const network = new FakeNetwork({ "wiki.intranet": [["10.0.0.7"]] }, server.port);
      await guardedFetch(url, options({ allowHosts: [entry], network }));
      expect(network.connections).toEqual(["10.0.0.7"]);
    }
  });

  test("does not open what an opened host leads to", async () => {
    await using server = await LocalServer.start(redirectTo("http://10.0.0.8/"));
    const network = new FakeNetwork({ "wiki.intranet": [["10.0.0.7"]] }, server.port);
    await expect(
      guardedFetch("http://wiki.intranet/", options({ allowHosts: ["wiki.intranet:80"], network })),
    ).rejects.toMatchObject({ code: "EBLOCKED" });
    expect(network.connections).toEqual(["10.0.0.7"]);
  });
});

/** A header holds ASCII: everything else is written as servers write it. */
const redirectTo =
  (location: string): RequestListener =>
  (_, response) =>
    void response.writeHead(302, { location: location.replace(/[^\x21-\x7e]/gu, encodeURIComponent) }).end();
