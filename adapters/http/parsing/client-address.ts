import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from 'node:net';
import { connectionAddress, withoutMapping } from './request-head.ts';

/** A range of addresses (CIDR, RFC 4632 section 3.1). */
export interface Network {
  readonly address: string;
  readonly prefixBits: number;
}

/** The address of the client behind a request. */
export type ClientAddress = (request: IncomingMessage) => string;

/** What each hop says about the hop before it, the latest last; undefined where it names no address. */
type Claims = readonly (string | undefined)[];

/** The most trusted hops between a client and the service. */
const HOPS_MAX = 20;

/**
 * Finds the client behind trusted proxies by `Forwarded` (RFC 7239) or `X-Forwarded-For`. Every hop appends the address that it
 * was called from, and a client can send such a header itself, so the list is read from its end: the first address that is
 * not trusted is the client. Where a hop names no address, that hop counts as the client. If both headers are there and
 * disagree, the nearest proxy counts as the client, since a proxy that sets one of them may pass on the other as it came.
 */
export function clientAddressBehind(trusted: readonly Network[]): ClientAddress {
  const list = new BlockList();
  for (const { address, prefixBits } of trusted) list.addSubnet(address, prefixBits, familyOf(address));
  const isTrusted = (address: string) => isIP(address) !== 0 && list.check(address, familyOf(address));

  const followFrom = (hop: string, claims: Claims) => {
    let client = hop;
    for (const claim of claims.slice(-HOPS_MAX).toReversed()) {
      if (claim === undefined) break;
      client = claim;
      if (!isTrusted(client)) break;
    }
    return client;
  };

  return (request) => {
    const hop = connectionAddress(request);
    if (!isTrusted(hop)) return hop;
    const { forwarded, 'x-forwarded-for': xForwardedFor } = request.headersDistinct;
    const found = [forwarded?.flatMap(readForwarded), xForwardedFor?.flatMap(readXForwardedFor)]
      .filter((claims) => claims !== undefined)
      .map((claims) => followFrom(hop, claims));
    const [client = hop, other = client] = found;
    return client === other ? client : hop;
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}

function readXForwardedFor(line: string): Claims {
  return line.split(',').map((entry) => readNode(entry.trim()));
}

// forwarded-pair = token "=" ( token / quoted-string ), and what separates it from the next (RFC 7239 section 4).
const PAIR = /[\t ]*(?:([!#$%&'*+.^_`|~\w-]+)=(?:([!#$%&'*+.^_`|~\w-]+)|"((?:[^"\\]|\\.)*)")[\t ]*)?(?:([;,])|$)/gy;

/** One line of the header. A line that is malformed anywhere names no address: a quote in it may have been left open on purpose. */
function readForwarded(line: string): Claims {
  const elements: string[][] = [[]];
  let length = 0;
  for (const [pair, name, token, quoted, separator] of line.matchAll(PAIR)) {
    length += pair.length;
    if (name?.toLowerCase() === 'for') elements.at(-1)?.push(token ?? quoted?.replaceAll(/\\(.)/g, '$1') ?? '');
    if (separator === ',') elements.push([]);
  }
  if (length !== line.length) return [undefined];
  return elements.map(([node = '', ...others]) => (others.length === 0 ? readNode(node) : undefined));
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
