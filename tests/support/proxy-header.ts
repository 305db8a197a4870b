import { isIPv4, SocketAddress } from 'node:net';

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n');

/** A header of version 1. */
export function proxyV1(source: string, destination = isIPv4(source) ? '192.0.2.1' : '2001:db8::1'): Buffer {
  return Buffer.from(`PROXY ${isIPv4(source) ? 'TCP4' : 'TCP6'} ${source} ${destination} 56324 443\r\n`);
}

/** A header of version 2, with TLVs of so many bytes. */
export function proxyV2(source: string, tlvBytes = 0): Buffer {
  const address = isIPv4(source) ? Buffer.from(source.split('.').map(Number)) : bytesOf(source);
  return proxyV2Of(0x21, isIPv4(source) ? 0x11 : 0x21, [
    address,
    address,
    Buffer.alloc(4),
    Buffer.alloc(tlvBytes, 0xee),
  ]);
}

/** A header of version 2 with any command, family and content. */
export function proxyV2Of(command: number, family: number, content: readonly Buffer[], length?: number): Buffer {
  const body = Buffer.concat(content);
  const fixed = Buffer.from([command, family, 0, 0]);
  fixed.writeUInt16BE(length ?? body.length, 2);
  return Buffer.concat([SIGNATURE, fixed, body]);
}

function bytesOf(address: string): Buffer {
  const [head = '', tail = ''] = new SocketAddress({ address, family: 'ipv6' }).address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
