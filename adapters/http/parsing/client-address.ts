import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from 'node:net';
import { copyOf } from '../../../application/copy-of.ts';
import { areTooLarge, connectionAddress, valuesOf, withoutMapping } from './request-head.ts';

/** A range of addresses (CIDR, RFC 4632 section 3.1). */
export interface Network {
  readonly address: string;
  readonly prefixBits: number;
}

/** The address of the client behind a request. */
export type ClientAddress = (request: IncomingMessage) => string;

/** What each hop says about the hop before it, the latest first, parsed when it is asked for; undefined where it names no address. */
type Claims = Generator<string | undefined>;

/** The header fields in which hops say it. */
const CLAIMING_FIELDS = [
  { name: 'forwarded', read: readForwarded },
  { name: 'x-forwarded-for', read: readXForwardedFor },
];

/** How many entries of a header are read, from its end. Nobody's list makes a request expensive before it is admitted. */
const HOPS_MAX = 20;

/** Characters of a line of `Forwarded`, which has to be well-formed from its beginning: twenty entries with all fields fit. */
const FORWARDED_LINE_MAX = 4_096;

/**
 * Finds the client behind trusted proxies by `Forwarded` (RFC 7239) or `X-Forwarded-For`. Every hop appends the address that it
 * was called from, and a client can send such a header itself, so the list is read from its end: the first address that is
 * not trusted is the client. Where a hop names no address, that hop counts as the client; if all entries that are read are trusted, the
 * last of them does. If both headers are there and disagree, the nearest proxy counts as the client, since a proxy that sets one of
 * them may pass on the other as it came.
 */
export function clientAddressBehind(trusted: readonly Network[]): ClientAddress {
  const isTrusted = withinNetworks(trusted);

  const followFrom = (hop: string, claims: Claims) => {
    let client = hop;
    for (const claim of claims.take(HOPS_MAX)) {
      if (claim === undefined) break;
      client = claim;
      if (!isTrusted(client)) break;
    }
    return client;
  };

  return (request) => {
    const hop = connectionAddress(request);
    // Of too many header fields, Node.js may have dropped the one that counts.
    if (!isTrusted(hop) || areTooLarge(request.rawHeaders)) return hop;
    const found = CLAIMING_FIELDS.map(({ name, read }) => ({ read, lines: valuesOf(name, request.rawHeaders) }))
      .filter(({ lines }) => lines.length > 0)
      .map(({ read, lines }) => followFrom(hop, read(lines)));
    const [client = hop, other = client] = found;
    return client === other ? copyOf(client) : hop;
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
      yield readNode(line.slice(comma + 1, end).trim());
      end = comma;
    }
  }
}

// forwarded-pair = token "=" ( token / quoted-string ), and what separates it from the next (RFC 7239 section 4).
const PAIR = /[\t ]*(?:([!#$%&'*+.^_`|~\w-]+)=(?:([!#$%&'*+.^_`|~\w-]+)|"((?:[^"\\]|\\.)*)")[\t ]*)?(?:([;,])|$)/gy;

function* readForwarded(lines: readonly string[]): Claims {
  for (const line of lines.toReversed()) {
    for (const [node = '', ...others] of elementsOf(line).toReversed()) {
      yield others.length === 0 ? readNode(node) : undefined;
    }
  }
}

/**
 * What stands after `for` in each element of a line. One that is too long, or malformed anywhere, names nothing: a quote may
 * have been left open on purpose.
 */
function elementsOf(line: string): readonly (readonly string[])[] {
  if (line.length > FORWARDED_LINE_MAX) return [[]];
  const elements: string[][] = [[]];
  let length = 0;
  for (const [pair, name, token, quoted, separator] of line.matchAll(PAIR)) {
    length += pair.length;
    if (name?.toLowerCase() === 'for') elements.at(-1)?.push(token ?? quoted?.replaceAll(/\\(.)/g, '$1') ?? '');
    if (separator === ',') elements.push([]);
  }
  return length === line.length ? elements : [[]];
}

// nodename [ ":" node-port ] (section 6). Without brackets, as in X-Forwarded-For, an IPv6 address has no port.
const NODE = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::(?:\d{1,5}|_[\w.-]+))?$/i;

/** The address that a node names, in one spelling; undefined for `unknown`, an obfuscated identifier and anything else. */
function readNode(node: string): string | undefined {
  const [, bracketed, dotted] = NODE.exec(node) ?? [];
  if (dotted !== undefined) return isIPv4(dotted) ? dotted : undefined;
  const address = bracketed ?? node;
  if (!isIPv6(address) || address.includes('%')) return undefined;
  return withoutMapping(new SocketAddress({ address, family: 'ipv6' }).address);
}
