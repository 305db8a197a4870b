import { isIPv4, isIPv6 } from 'node:net';

/** Whether a Host field (RFC 9110 section 7.2) may be answered; undefined where there is none. */
export type HostCheck = (host: string | undefined) => boolean;

/**
 * Accepts names of the loopback interface, IP addresses and these names, with any port. A page of an attacker whose own
 * name resolves to this machine (DNS rebinding) makes a browser send that name, and could otherwise read what a browser
 * of the operator can reach.
 */
export function ownHosts(names: readonly string[]): HostCheck {
  const own = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (host = '') => {
    const [, address, name = ''] = /^(?:\[(.*)\]|([^:]*?)\.?)(?::\d*)?$/.exec(host.toLowerCase()) ?? [];
    if (address !== undefined) return isIPv6(address) && !address.includes('%');
    return own.has(name) || /[^.]\.localhost$/.test(name) || isIPv4(name);
  };
}
