import { readFileSync } from 'node:fs';

const STATES = { established: '01', listening: '0A' };

/** How many sockets of IPv4 with this local port are in the state (proc_pid_net(5)), accepted or not. Linux only. */
export function socketsAt(port: number, state: keyof typeof STATES): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  // The first column, a number, gets wider where the machine has more than 9,999 sockets.
  const rows = readFileSync('/proc/net/tcp', 'latin1').split('\n');
  return rows.filter((row) => {
    const [, address, , code] = row.trim().split(/\s+/);
    return code === STATES[state] && address?.endsWith(local);
  }).length;
}
