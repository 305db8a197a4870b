import type { Problem } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';

/** What the errors of Node.js have beside code and system call. */
interface ListenFault {
  readonly port?: number;
  readonly hostname?: string;
}

/** Where a program listens, by the names of its settings. */
export interface ListeningPlace {
  /** The setting of the port, such as `PORT`. */
  readonly portSetting: string;
  readonly hostSetting: string;
  readonly host: string;
  readonly port: number;
}

/** What `start` resolves with, or why one of these ports could not be opened. Rejects with every other fault. */
export async function namePortProblem<Started>(
  places: readonly ListeningPlace[],
  start: () => Promise<Started>,
): Promise<Result<Started, readonly Problem[]>> {
  try {
    return success(await start());
  } catch (fault) {
    const problem = listenProblem(fault, places);
    if (problem === undefined) throw fault;
    return failure([problem]);
  }
}

/**
 * Why a port could not be opened, by the name of the setting to change; undefined if the fault is another one.
 *
 * @param fault the error of Node.js, with the address and the port that it tried.
 */
export function listenProblem(fault: unknown, places: readonly ListeningPlace[]): Problem | undefined {
  const { code, syscall, port = 0, hostname } = (fault ?? {}) as NodeJS.ErrnoException & ListenFault;
  const place = places.find((known) => (syscall === 'listen' ? known.port === port : known.host === hostname));
  if (place === undefined || (syscall !== 'listen' && syscall !== 'getaddrinfo')) return undefined;
  const { portSetting, hostSetting, host } = place;
  const of = (setting: string, text: string, fix: string) => {
    return { code: setting, text: `${setting}: ${text} (${code})`, fix };
  };
  if (syscall === 'getaddrinfo') {
    const fix = 'write an address of this machine, or 0.0.0.0 for all of them';
    return of(hostSetting, `the name ${host} has no address`, fix);
  }
  switch (code) {
    case 'EADDRINUSE':
      return of(portSetting, `another program uses port ${port}`, `stop it, or set ${portSetting} to another port`);
    case 'EACCES':
      return of(portSetting, `the user of this process may not listen on port ${port}`, 'take a port from 1024 on');
    case 'EADDRNOTAVAIL': {
      const fix = 'write one that it has, or 0.0.0.0 for all of them';
      return of(hostSetting, `${host} is no address of this machine`, fix);
    }
    default:
      return of(portSetting, `port ${port} cannot be opened`, `set ${portSetting} to another port`);
  }
}
