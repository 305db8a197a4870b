import { isIP, isIPv4, isIPv6, SocketAddress } from 'node:net';

/** The client's address, or undefined for the sender's own; and how many bytes the header has. */
export interface ProxyHeader {
  readonly address: string | undefined;
  readonly bytes: number;
}

/** Of version 1 with its line end, and of version 2 with everything that follows the addresses. */
const V1_MAX_BYTES = 107;
const V2_MAX_BYTES = 536;

const V1_BEGIN = Buffer.from('PROXY ');
const V2_BEGIN = Buffer.from('\r\n\r\n\0\r\nQUIT\n');
const V2_FIXED_BYTES = 16;

/** By the byte of family and protocol: how long the two addresses and the two ports are. Others than TCP over IP are refused. */
const ADDRESS_BYTES: Readonly<Record<number, number>> = { 17: 12, 33: 36 };
const UNSPECIFIED = 0;

/**
 * Reads what a proxy sends in front of a connection (The PROXY protocol, versions 1 and 2). `incomplete` is never said of more
 * bytes than a header may have; anything that does not begin like a header is `malformed`.
 */
export function readProxyHeader(received: Buffer): ProxyHeader | 'incomplete' | 'malformed' {
  if (begins(received, V2_BEGIN)) return readV2(received);
  return begins(received, V1_BEGIN) ? readV1(received) : 'malformed';
}

function begins(received: Buffer, expected: Buffer): boolean {
  const length = Math.min(received.length, expected.length);
  return received.subarray(0, length).equals(expected.subarray(0, length));
}

function readV1(received: Buffer): ProxyHeader | 'incomplete' | 'malformed' {
  const line = received.toString('latin1', 0, V1_MAX_BYTES);
  const end = line.indexOf('\r\n');
  if (end === -1) return received.length < V1_MAX_BYTES ? 'incomplete' : 'malformed';
  const bytes = end + 2;
  const [, protocol, ...rest] = line.slice(0, end).split(' ');
  if (protocol === 'UNKNOWN') return { address: undefined, bytes };
  const isAddress = protocol === 'TCP4' ? isIPv4 : protocol === 'TCP6' ? isIPv6 : undefined;
  const [source = '', destination = '', ...ports] = rest;
  const isWhole = isAddress?.(source) && isAddress(destination) && !rest.join().includes('%');
  if (!isWhole || ports.length !== 2 || !ports.every(isPort)) return 'malformed';
  return { address: normal(source), bytes };
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) < 65_536;
}

function readV2(received: Buffer): ProxyHeader | 'incomplete' | 'malformed' {
  if (received.length < V2_FIXED_BYTES) return 'incomplete';
  const [command, family = UNSPECIFIED] = received.subarray(V2_BEGIN.length);
  const bytes = V2_FIXED_BYTES + received.readUInt16BE(V2_BEGIN.length + 2);
  const isLocal = command === 0x20;
  if (bytes > V2_MAX_BYTES || !(isLocal || command === 0x21)) return 'malformed';
  const ownAddress = isLocal || family === UNSPECIFIED;
  const needed = ADDRESS_BYTES[family];
  if (!ownAddress && (needed === undefined || bytes < V2_FIXED_BYTES + needed)) return 'malformed';
  if (received.length < bytes) return 'incomplete';
  if (ownAddress) return { address: undefined, bytes };
  const source = received.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + (needed === 12 ? 4 : 16));
  const text = needed === 12 ? source.join('.') : (source.toString('hex').match(/.{4}/g) ?? []).join(':');
  return { address: normal(text), bytes };
}

/** In one spelling. */
function normal(address: string): string {
  return new SocketAddress({ address, family: isIP(address) === 4 ? 'ipv4' : 'ipv6' }).address;
}
