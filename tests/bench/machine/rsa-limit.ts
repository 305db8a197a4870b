import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { runProcess } from '../servers/own-process.ts';
import { parseOpensslSpeed } from './openssl-speed.ts';

/** How many RSA-2048 signatures a second the machine makes on all cores when it does nothing else: no server of RS256 tokens gets beyond it. */
export interface RsaLimit {
  /** What measures, for people. */
  readonly name: string;
  measure(seconds: number): Promise<number>;
}

/** `openssl speed` where there is one, else Node's own crypto in a thread a core. */
export async function findRsaLimit(): Promise<RsaLimit> {
  const version = await runProcess('openssl', ['version']).catch(() => undefined);
  const [openssl] = /^OpenSSL \S+/.exec(version ?? '') ?? [];
  return openssl === undefined
    ? { name: 'crypto.sign of Node.js, a thread a core', measure: signInThreads }
    : { name: `openssl speed, ${openssl}`, measure: runOpenssl };
}

async function runOpenssl(seconds: number): Promise<number> {
  const args = ['speed', '-multi', String(availableParallelism()), '-seconds', String(seconds), 'rsa2048'];
  return parseOpensslSpeed(await runProcess('openssl', args));
}

async function signInThreads(seconds: number): Promise<number> {
  const counts = await Promise.all(Array.from({ length: availableParallelism() }, () => signaturesOf(seconds)));
  return counts.reduce((sum, count) => sum + count, 0) / seconds;
}

function signaturesOf(seconds: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./sign-in-a-loop.ts', import.meta.url), { workerData: { seconds } });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
