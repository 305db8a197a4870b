import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { runProcess } from './server-process.ts';

/** How many RSA-2048 signatures per second the machine makes on all cores with nothing else running: the upper limit of every server of RS256 tokens. */
export interface RsaLimit {
  /** The tool that measures, for the report. */
  readonly name: string;
  measure(seconds: number): Promise<number>;
}

/** `openssl speed` if there is one, otherwise Node's own crypto in one thread per core. */
export async function findRsaLimit(): Promise<RsaLimit> {
  const version = await runProcess('openssl', ['version']).catch(() => undefined);
  const [openssl] = /^OpenSSL \S+/.exec(version ?? '') ?? [];
  return openssl === undefined
    ? { name: 'crypto.sign of Node.js, one thread per core', measure: signInThreads }
    : { name: `openssl speed, ${openssl}`, measure: runOpenssl };
}

async function runOpenssl(seconds: number): Promise<number> {
  const args = ['speed', '-multi', String(availableParallelism()), '-seconds', String(seconds), 'rsa2048'];
  return parseOpensslSpeed(await runProcess('openssl', args));
}

/** Signatures per second of all processes together, from the table at the end of `openssl speed rsa2048`. Throws if there is none. */
export function parseOpensslSpeed(output: string): number {
  const perSecond = /^rsa +2048 bits(?:\s+[\d.]+s)+\s+([\d.]+)/m.exec(output)?.[1];
  if (perSecond === undefined) throw new Error(`openssl speed printed no signatures per second: ${output}`);
  return Number(perSecond);
}

/** In each thread, this same file runs as the program at its end. */
async function signInThreads(seconds: number): Promise<number> {
  const threads = Array.from(
    { length: availableParallelism() },
    () =>
      new Promise<number>((resolve, reject) => {
        const worker = new Worker(new URL(import.meta.url), { workerData: { signForSeconds: seconds } });
        worker.once('message', resolve);
        worker.once('error', reject);
      }),
  );
  const counts = await Promise.all(threads);
  return counts.reduce((sum, count) => sum + count, 0) / seconds;
}

function countSignatures(seconds: number): number {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const input = randomBytes(256);
  const end = performance.now() + seconds * 1000;
  let count = 0;
  for (; performance.now() < end; count += 1) sign('RSA-SHA256', input, privateKey);
  return count;
}

if (workerData?.signForSeconds !== undefined) parentPort?.postMessage(countSignatures(workerData.signForSeconds));
