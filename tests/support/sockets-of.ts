import { readdirSync, readlinkSync } from 'node:fs';

/** How many sockets a process holds, on Linux. The pipes between Node.js processes are sockets too. */
export function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`);
    } catch {
      return 'closed meanwhile';
    }
  });
  return targets.filter((target) => target.startsWith('socket:')).length;
}
