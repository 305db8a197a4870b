import { constants, fstatSync, openSync } from 'node:fs';

/**
 * The descriptor of standard output, which does not block. A full pipe or a halted terminal must not hold a thread of the pool,
 * which BCrypt and DNS need too. All processes of the service share the open file of standard output, and Node.js makes it
 * blocking whenever it starts another process. So this process opens it again for itself. Where the system does not allow that,
 * as for sockets, Node.js makes it non-blocking for a while when `process.stdout` is first used.
 */
export function openStandardOutput(): number {
  try {
    const kind = fstatSync(1);
    if (kind.isFIFO() || kind.isCharacterDevice()) {
      return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    }
  } catch {
    // No /proc, or the open file belongs to another user.
  }
  return process.stdout.fd;
}
