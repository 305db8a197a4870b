import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Answers, callUntil, expectOnlyTokens } from '../support/first-answers.ts';
import { requestToken, send } from '../support/http.ts';
import { childrenOf, type Program } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

let program: Program | undefined;
afterEach(async () => program?.[Symbol.asyncDispose]());

// tests/faults/first-answers.fault.ts has the same with PostgreSQL, and with another key that is published.
it.each(['1', '2'])(
  'from the first connection that a service with WORKERS=%s accepts, each token request gets its token',
  async (WORKERS) => {
    const backend = await freeBackend();
    const calling = callUntil(backend, ({ statuses }) => statuses.length >= 100, '100 answers');
    program = startReplica(backend, { WORKERS });
    expectOnlyTokens(await calling);
  },
);

describe('a service that waits until its key may sign', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it.each(['1', '2'])(
    'says so on /readyz, listens on no port, and ends at SIGTERM, with WORKERS=%s',
    async (WORKERS) => {
      const settings = { DATABASE_URL: database.url, KEY_DIRECTORY: 'postgres', KEY_PUBLICATION_SECONDS: '600' };
      const [early, late] = [await freeBackend(), await freeBackend()];
      const other = startReplica(early, settings);
      await using _other = other;
      await Promise.race([other.printed(/"event":"(started|key_published)"/), other.ended()]);

      program = startReplica(late, { ...settings, WORKERS });
      await program.printed(/"event":"key_published"/);
      const readiness = async () => send(`http://127.0.0.1:${late.managementPort}`, '/readyz');
      await until(
        async () => (await readiness()).text.includes('waits until every verifier'),
        'it says what it waits for',
      );
      expect((await readiness()).status).toBe(503);
      expect((await send(`http://127.0.0.1:${late.managementPort}`, '/livez')).status).toBe(200);
      await expect(requestToken(`http://127.0.0.1:${late.port}`, DEMO_TOKEN_REQUEST)).rejects.toThrow('ECONNREFUSED');

      program.process.kill('SIGTERM');
      expect(await program.ended()).toBe(0);
      expect(program.stderr()).toBe('');
      expect(program.stdout()).not.toContain('"event":"started"');
    },
  );
});

describe('a worker that replaces another', () => {
  it('answers its first requests with tokens', async () => {
    const backend = await freeBackend();
    program = startReplica(backend, { WORKERS: '2' });
    await program.printed(/"event":"started"/);
    const [pid] = childrenOf(program.process.pid ?? 0);
    let atReplacement: number | undefined;
    const isEnough = ({ statuses }: Answers) => {
      if (program?.stdout().includes('"event":"worker_replaced"')) atReplacement ??= statuses.length;
      return atReplacement !== undefined && statuses.length > atReplacement + 100;
    };
    const calling = callUntil(backend, isEnough, 'the other worker answers too');
    process.kill(pid ?? 0, 'SIGKILL');
    expect((await calling).statuses.filter((status) => status !== 200)).toEqual([]);
  });
});
