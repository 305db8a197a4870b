import { fileURLToPath } from 'node:url';
import { runProcess } from '../servers/own-process.ts';
import { ANSWER_SECONDS_MAX, type LoadGenerator, type LoadJob } from './load-generator.ts';
import { parseWrkOutput } from './wrk-output.ts';

const SCRIPT = fileURLToPath(new URL('./token-requests.lua', import.meta.url));

/** wrk, if it is on the PATH. */
export async function findWrk(): Promise<LoadGenerator | undefined> {
  // It ends with 1 when it is asked for its version.
  const version = await runProcess('wrk', ['--version'], { exitCodes: [0, 1] }).catch(() => undefined);
  if (version === undefined) return undefined;
  const [, number = 'of unknown version'] = /(\d+(?:\.\d+)+)/.exec(version) ?? [];
  return { name: `wrk ${number}`, run: async (job) => parseWrkOutput(await runProcess('wrk', argumentsOf(job))) };
}

/** One thread: it keeps up with any server of RSA signatures, and a second one would only take a core from it. */
function argumentsOf({ tokenUrl, connections, seconds, clients }: LoadJob): readonly string[] {
  const options = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', `${ANSWER_SECONDS_MAX}s`];
  const walk = [String(clients.count), String(clients.step), clients.secret];
  return [...options, '-s', SCRIPT, tokenUrl, '--', ...walk];
}
