import { availableParallelism } from 'node:os';
import { runProcess } from '../../tests/support/server-process.ts';

/** The tool that measures, for the report. Throws if it is not installed. */
export async function rsaLimitTool(): Promise<string> {
  const version = await runProcess('openssl', ['version']).catch((cause) => {
    throw new Error('the RSA limit is measured with openssl, which is not installed', { cause });
  });
  return `openssl speed, ${version.split(' ').slice(0, 2).join(' ')}`;
}

/**
 * How many RSA-2048 signatures per second the machine makes on all cores with nothing else running: the upper limit of
 * every server of RS256 tokens.
 */
export async function measureRsaLimit(seconds: number): Promise<number> {
  const args = ['speed', '-multi', String(availableParallelism()), '-seconds', String(seconds), 'rsa2048'];
  return parseOpensslSpeed(await runProcess('openssl', args));
}

/**
 * Signatures per second of all processes together, from the table at the end of `openssl speed rsa2048`. Throws if
 * there is none.
 */
export function parseOpensslSpeed(output: string): number {
  const perSecond = /^rsa +2048 bits(?:\s+[\d.]+s)+\s+([\d.]+)/m.exec(output)?.[1];
  if (perSecond === undefined) throw new Error(`openssl speed printed no signatures per second: ${output}`);
  return Number(perSecond);
}
