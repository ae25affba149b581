// Which addresses belong to the public internet. What is not known to be public is not: IPv6 is allowed from its one public
// range outwards, so that every way to write an IPv4 address into it (mapped, compatible, translated) is outside already.
import { BlockList, isIP } from "node:net";

/** IANA's special-purpose addresses, and one that a cloud keeps for its own machines. */
const special4: readonly (readonly [net: string, prefix: number, why: string])[] = [
  ["0.0.0.0", 8, "this host"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "shared by customers of a carrier; some clouds' metadata"],
  ["127.0.0.0", 8, "loopback"],
  ["168.63.129.16", 32, "a cloud's service for its own machines"],
  ["169.254.0.0", 16, "link-local; most clouds' metadata"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "protocol assignments; one cloud's metadata"],
  ["192.0.2.0", 24, "documentation"],
  ["192.88.99.0", 24, "relays from IPv6"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "benchmarks"],
  ["198.51.100.0", 24, "documentation"],
  ["203.0.113.0", 24, "documentation"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved, broadcast"],
];

const global6: readonly [net: string, prefix: number] = ["2000::", 3];

const special6: readonly (readonly [net: string, prefix: number, why: string])[] = [
  ["2001::", 23, "protocol assignments: Teredo, benchmarks, identifiers"],
  ["2001:db8::", 32, "documentation"],
  ["2002::", 16, "6to4: an IPv4 address inside"],
  ["3ffe::", 16, "a test network of old"],
  ["3fff::", 20, "documentation"],
];

const ipv4 = new BlockList();
for (const [net, prefix] of special4) ipv4.addSubnet(net, prefix, "ipv4");
const public6 = new BlockList();
public6.addSubnet(...global6, "ipv6");
const ipv6 = new BlockList();
for (const [net, prefix] of special6) ipv6.addSubnet(net, prefix, "ipv6");

/** Whether the text is an address that anyone on the internet could reach. An address with a zone is not. */
export function isPublicAddress(address: string): boolean {
  if (address.includes("%")) return false;
  switch (isIP(address)) {
    case 4:
      return !ipv4.check(address, "ipv4");
    case 6:
      return public6.check(address, "ipv6") && !ipv6.check(address, "ipv6");
    default:
      return false;
  }
}

/** Whether two texts are one address, however they are written. */
export function isSameAddress(one: string, other: string): boolean {
  const family = isIP(one);
  if (family === 0 || family !== isIP(other)) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addAddress(one, type);
  return list.check(other, type);
}
