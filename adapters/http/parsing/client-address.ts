import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from 'node:net';
import { copyOf } from './copy-of.ts';
import { areTooLarge, connectionAddress, valuesOf, withoutMapping } from './request-head.ts';

/** A range of addresses (CIDR, RFC 4632 section 3.1). */
export interface Network {
  readonly address: string;
  readonly prefixBits: number;
}

/** The address of the client behind a request. */
export type ClientAddress = (request: IncomingMessage) => string;

/**
 * What each hop says about the hop before it, the latest first, parsed when it is asked for: undefined where it names
 * no address, null in an empty element.
 */
type Claims = Generator<string | undefined | null>;

/** How many entries of a header are read, from its end: no list makes a request expensive before it is admitted. */
const HOPS_MAX = 20;

/**
 * Finds the client behind trusted proxies by `X-Forwarded-For`. Every hop appends the address that it was called from,
 * and a client can send such a header itself, so the list is read from its end: the first address that is not trusted
 * is the client. Where a hop names no address, that hop counts as the client; if all entries that are read are trusted,
 * the last of them does. No other header is read, such as `Forwarded` (RFC 7239).
 */
export function clientAddressBehind(trusted: readonly Network[]): ClientAddress {
  const isTrusted = withinNetworks(trusted);
  return (request) => {
    let client = connectionAddress(request);
    // Of too many header fields, Node.js may have dropped the one that counts.
    if (!isTrusted(client) || areTooLarge(request.rawHeaders)) return client;
    for (const claim of readXForwardedFor(valuesOf('x-forwarded-for', request.rawHeaders)).take(HOPS_MAX)) {
      // An empty element counts for nothing (RFC 9110 section 5.6.1.2).
      if (claim === null) continue;
      if (claim === undefined) break;
      client = claim;
      if (!isTrusted(client)) break;
    }
    return copyOf(client);
  };
}

/** Whether an address is in one of these networks. */
export function withinNetworks(networks: readonly Network[]): (address: string) => boolean {
  const list = new BlockList();
  for (const { address, prefixBits } of networks) list.addSubnet(address, prefixBits, familyOf(address));
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}

/** All lines are one list (RFC 9110 section 5.3). */
function* readXForwardedFor(lines: readonly string[]): Claims {
  for (const line of lines.toReversed()) {
    for (let end = line.length; end >= 0; ) {
      const comma = end === 0 ? -1 : line.lastIndexOf(',', end - 1);
      const node = line.slice(comma + 1, end).trim();
      yield node === '' ? null : readNode(node);
      end = comma;
    }
  }
}

// An address, and perhaps a port. Without brackets, an IPv6 address has no port.
const NODE = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::\d{1,5})?$/i;

/** The address that an entry names, in one spelling; undefined for `unknown` and anything else. */
function readNode(node: string): string | undefined {
  const [, bracketed, dotted] = NODE.exec(node) ?? [];
  if (dotted !== undefined) return isIPv4(dotted) ? dotted : undefined;
  const address = bracketed ?? node;
  if (!isIPv6(address) || address.includes('%')) return undefined;
  return withoutMapping(new SocketAddress({ address, family: 'ipv6' }).address);
}
