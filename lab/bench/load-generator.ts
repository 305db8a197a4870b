import { fileURLToPath } from 'node:url';
import { runProcess } from '../../tests/support/server-process.ts';
import { peerFile, peerVersion } from './peers.ts';

/** Load in a closed loop: each connection sends its next token request when the previous one is answered. */
export interface LoadJob {
  readonly tokenUrl: string;
  readonly connections: number;
  /** Whole seconds. */
  readonly seconds: number;
  readonly clients: LoadClients;
  /** A file with request bodies, one per line, of which each is sent once, whatever the clients are. */
  readonly bodiesFile?: string | undefined;
}

/** The clients `client-1`, `client-(1 + step)`, … one after another, all with the same secret. */
export interface LoadClients {
  readonly count: number;
  readonly step: number;
  readonly secret: string;
}

export interface LoadResult {
  /** Answers with status 200, per second. */
  readonly tokensPerSecond: number;
  readonly tokens: number;
  /** Answers with another status, broken connections and timeouts. */
  readonly failures: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadGenerator {
  /** Name and version, for the report. */
  readonly name: string;
  run(job: LoadJob): Promise<LoadResult>;
}

/** A response that takes longer counts as a failure. */
const ANSWER_SECONDS_MAX = 10;

const WRK_SCRIPT = fileURLToPath(new URL('./token-requests.lua', import.meta.url));

/** wrk if it is on the PATH, because it takes the least CPU from the server; otherwise autocannon. */
export async function findLoadGenerator(): Promise<LoadGenerator> {
  // wrk exits with 1 when it is asked for its version.
  const version = await runProcess('wrk', ['--version'], { exitCodes: [0, 1] }).catch(() => undefined);
  if (version !== undefined) {
    const [, number = 'of unknown version'] = /(\d+(?:\.\d+)+)/.exec(version) ?? [];
    return { name: `wrk ${number}`, run: async (job) => parseWrkOutput(await runProcess('wrk', wrkArguments(job))) };
  }
  return {
    name: `autocannon ${await peerVersion('autocannon')}`,
    async run(job) {
      const given = JSON.stringify({ ...job, timeoutSeconds: ANSWER_SECONDS_MAX });
      return JSON.parse(await runProcess(process.execPath, [peerFile('autocannon.mjs'), given]));
    },
  };
}

/**
 * One thread: it keeps up with any server that signs with RSA, and a second one would only take a core from the server.
 */
function wrkArguments({ tokenUrl, connections, seconds, clients, bodiesFile }: LoadJob): readonly string[] {
  const options = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', `${ANSWER_SECONDS_MAX}s`];
  const { count, step, secret } = clients;
  const given = [String(count), String(step), secret, ...(bodiesFile === undefined ? [] : [bodiesFile])];
  return [...options, '-s', WRK_SCRIPT, tokenUrl, '--', ...given];
}

/**
 * Reads the last line of the output, which token-requests.lua writes, with times in microseconds. Throws if there is
 * none.
 */
export function parseWrkOutput(output: string): LoadResult {
  const line = output.trimEnd().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) throw new Error(`wrk printed no result: ${output}`);
  const { requests, duration, p50, p99, status, socket, timeout } = JSON.parse(line);
  const tokens = requests - status;
  const failures = status + socket + timeout;
  return { tokens, tokensPerSecond: (tokens * 1e6) / duration, failures, p50Ms: p50 / 1000, p99Ms: p99 / 1000 };
}
