import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { GOOD_CLIENT } from './running-service.ts';

/** The options with which `npm run clients` starts Node.js. */
export const CLIENTS_NODE_OPTIONS: readonly string[] = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)
  .scripts.clients.split(' ')
  .filter((word: string) => word.startsWith('--'));

/** Makes a program write its peak of resident memory to standard error when it exits. Only Linux reports it. */
export const REPORT_PEAK_MEMORY = ['--import', fileURLToPath(new URL('report-peak-memory.ts', import.meta.url))];

/** The peak in MiB, or 0 if the system does not report it. */
export function peakMemoryOf(stderr: string): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(stderr)?.[1] ?? 0) / 1_024;
}

/** Writes a clients file of hashed secrets whose ids are not in order. */
export async function writeClientsFile(file: string, size: number): Promise<void> {
  const output = createWriteStream(file);
  for (let number = 0; number < size; number += 1) {
    // 7,919 is a prime, so that every number below the size comes once.
    const client = { ...GOOD_CLIENT, client_id: `client-${(number * 7_919) % size}`, client_name: `Client ${number}` };
    const isWritten = output.write(`${number === 0 ? '[' : ',\n'}${JSON.stringify(client)}`);
    if (!isWritten) await once(output, 'drain');
  }
  output.end(']');
  await once(output, 'close');
}
