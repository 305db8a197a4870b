import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { runProgram } from '../support/program.ts';
import { createTestDatabase } from '../support/test-database.ts';

const HASH = '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';

/**
 * Passes connections on to a server, and cuts each before its packet with this number, counted from 1. Returns its
 * port.
 */
async function cuttingProxy(target: URL, packet: number, how: 'end' | 'reset', opened: AsyncDisposableStack) {
  let hasCut = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    let seen = 0;
    far.on('data', (chunk) => {
      seen += 1;
      if (seen < packet) {
        near.write(chunk);
        return;
      }
      hasCut = true;
      if (how === 'end') near.end();
      else near.resetAndDestroy();
      far.destroy();
    });
    near.on('data', (chunk) => far.write(chunk));
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  opened.defer(() => void server.close());
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, hasCut: () => hasCut };
}

it.each(['end', 'reset'] as const)(
  'apply ends with 3 and a sentence at whichever packet the connection ends (%s)',
  async (how) => {
    const database = await createTestDatabase();
    const folder = await mkdtemp(join(tmpdir(), 'cut-'));
    await migrateDatabase(database.url);
    const file = join(folder, 'clients.json');
    await writeFile(file, JSON.stringify([{ client_id: 'a', client_name: 'A', scope: 'a', client_secret: HASH }]));
    const outcomes: string[] = [];
    for (let packet = 1; ; packet += 1) {
      await using opened = new AsyncDisposableStack();
      const url = new URL(database.url);
      const proxy = await cuttingProxy(new URL(database.url), packet, how, opened);
      [url.hostname, url.port] = ['127.0.0.1', String(proxy.port)];
      await using program = runProgram('config/clients.ts', { DATABASE_URL: url.href }, ['apply', '-f', file, '--yes']);
      const code = await program.ended();
      if (!proxy.hasCut()) {
        // A cut response to the commit has stored the client.
        expect([code, program.stderr()]).toEqual([0, expect.stringMatching(/1 added|1 unchanged/)]);
        expect(packet).toBeGreaterThan(10);
        break;
      }
      const problem = code === 3 ? program.stderr() : `${code} ${program.stderr()}`;
      if (!/^[\w ]+: .*\.?$/m.test(program.stderr()) || code !== 3) outcomes.push(`packet ${packet}: ${problem}`);
    }
    expect(outcomes).toEqual([]);
    await rm(folder, { recursive: true });
    await database.drop();
  },
  240_000,
);
