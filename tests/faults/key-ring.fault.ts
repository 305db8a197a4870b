import { mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { DatabaseServer } from '../support/database-server.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { SEALED_KEYS, storeDemoClient } from '../support/sealed-keys.ts';
import { createSqliteFile } from '../support/sqlite-file.ts';
import { until } from '../support/until.ts';
import { limitFiles } from './limit-files.ts';
import { ReplicaWithClocks } from './replica-with-clocks.ts';

const SHARED = { ...SEALED_KEYS, CLIENT_REPOSITORY: 'postgres', DATABASE_DEADLINE_MS: '3000' };

let server: DatabaseServer;
let folder: string;
beforeAll(async () => {
  server = await DatabaseServer.create();
  await storeDemoClient({ query: (text, values) => server.query(text, values) });
  folder = mkdtempSync(join(tmpdir(), 'key-ring-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server.stop();
});
beforeEach(async () => {
  await server.query('drop table if exists key_ring');
});

const urlOf = (port = server.port) => server.urlOf('postgres', 'postgres', port);
const start = (more: Readonly<Record<string, string>> = {}) =>
  ReplicaWithClocks.start({ ...SHARED, DATABASE_URL: urlOf(), ...more });
const kidOf = (token: string) => String(decodeProtectedHeader(token).kid);
const algorithmOf = (token: string) => decodeProtectedHeader(token).alg;
const keys = () => server.query('select kid, algorithm, step::int, sealed from key_ring order by algorithm, step');
const untilTwoKeys = (replica: ReplicaWithClocks) =>
  until(async () => (await replica.kids()).length === 2, 'the next key is published');

/** Asks for tokens, and uses each at all replicas, until it is stopped. Returns every response but 200. */
function loadOn(...replicas: readonly ReplicaWithClocks[]) {
  const others: string[] = [];
  let [isOver, tokens] = [false, 0];
  const running = Promise.all(
    replicas.map(async (replica) => {
      while (!isOver) {
        const response = await replica.askToken();
        if (response.status !== 200) {
          others.push(`token: ${response.status}`);
          continue;
        }
        tokens += 1;
        const token = String(response.json()['access_token']);
        for (const other of replicas) {
          const status = await other.use(token);
          if (status !== 200) others.push(`use of ${kidOf(token)}: ${status}`);
        }
      }
    }),
  );
  const stop = async () => {
    isOver = true;
    await running;
    return others;
  };
  return { stop, tokens: () => tokens, others };
}

describe('replicas with PostgreSQL', () => {
  it('that find the ring empty at the same moment have one key for each step, and accept the tokens of each other', async () => {
    await using one = await start();
    await using two = await start();
    await using three = await start();
    const replicas = [one, two, three];
    await Promise.all(replicas.map((replica) => replica.untilReady()));
    const load = loadOn(...replicas);
    await until(() => load.tokens() > 100, 'there is load');
    expect(await load.stop()).toEqual([]);
    expect(await keys()).toMatchObject([{ step: 0 }, { step: 1 }]);
    const kids = await Promise.all(replicas.map(async (replica) => kidOf(await replica.getToken())));
    expect(new Set(kids).size).toBe(1);
  });

  it('whose clocks are 5 s apart accept the tokens of each other', async () => {
    await using ahead = await ReplicaWithClocks.start({ ...SHARED, DATABASE_URL: urlOf() }, 5);
    await using behind = await start();
    await Promise.all([ahead.untilReady(), behind.untilReady()]);
    const load = loadOn(ahead, behind);
    await until(() => load.tokens() > 200, 'there is load');
    expect(await load.stop()).toEqual([]);
    const [one, two] = [await ahead.getToken(), await behind.getToken()].map((token) => decodeJwt(token).iat ?? 0);
    expect(Math.abs((one ?? 0) - (two ?? 0))).toBeLessThanOrEqual(1);
  });

  it('write the keys of a lost or emptied table back, and no token is refused, nor after a restart of all', async () => {
    await using one = await start();
    await using two = await start();
    await Promise.all([one.untilReady(), two.untilReady()]);
    await untilTwoKeys(one);
    await untilTwoKeys(two);
    const rows = await keys();
    const tokens = [await one.getToken(), await two.getToken()];
    const load = loadOn(one, two);
    await until(() => load.tokens() > 50, 'there is load');
    await server.query('delete from key_ring');
    await until(async () => (await keys()).length === 2, 'the keys are back');
    expect(await keys()).toEqual(rows);
    // A table that another program makes anew, as `npm run migrate` does.
    await server.query('create table another (like key_ring including all); drop table key_ring');
    const isNoted = async () => (await one.readiness()).text.includes('bring it back');
    await until(isNoted, 'the loss is noted, with what to do');
    await server.query('alter table another rename to key_ring');
    await until(async () => (await keys()).length === 2, 'the keys are back');
    expect(await keys()).toEqual(rows);
    await until(async () => !(await isNoted()), 'the note is over');
    expect(await load.stop()).toEqual([]);
    expect(one.program.stdout() + two.program.stdout()).toContain('"event":"key_restored"');
    for (const replica of [one, two]) {
      replica.program.process.kill('SIGKILL');
      await replica.program.ended();
    }
    await using next = await start();
    await next.untilReady();
    for (const token of tokens) expect(await next.use(token)).toBe(200);
  });

  it('stopped over a rotation and a revocation, sign with no old key once they go on', async () => {
    const times = { KEY_ROTATION_SECONDS: '8', KEY_PUBLICATION_SECONDS: '1', TOKEN_LIFETIME_SECONDS: '300' };
    await using stopped = await start(times);
    await using other = await start(times);
    await Promise.all([stopped.untilReady(), other.untilReady()]);
    await untilTwoKeys(stopped);
    const before = await stopped.getToken();
    const revoked = await stopped.kids();
    stopped.program.process.kill('SIGSTOP');
    try {
      await server.query('update key_ring set sealed = null, revoked_at = 0');
      await until(async () => {
        const { status, json } = await other.askToken();
        return status === 200 && !revoked.includes(kidOf(String(json()['access_token'])));
      }, 'another key signs');
      // Longer than a reading is good for, and than a rotation.
      await new Promise((done) => setTimeout(done, 11_000));
    } finally {
      stopped.program.process.kill('SIGCONT');
    }
    expect(revoked).not.toContain(kidOf(await stopped.getToken()));
    expect(await stopped.use(before)).toBe(401);
    const load = loadOn(stopped, other);
    await until(() => load.tokens() > 100, 'there is load');
    expect(await load.stop()).toEqual([]);
  });

  it('use a key whose commit was acknowledged to nobody, once they have read it back', async () => {
    await using proxy = await FaultyProxy.to(server.port);
    await using replica = await start({ DATABASE_URL: urlOf(proxy.port) });
    await replica.untilReady();
    await untilTwoKeys(replica);
    await server.query(`create or replace function acknowledge_late() returns trigger language plpgsql as
      $$ begin perform pg_sleep(1); return new; end $$`);
    await server.query('create trigger late after insert on key_ring for each row execute function acknowledge_late()');
    await server.query('update key_ring set sealed = null, revoked_at = 0');
    const isInserting = async () =>
      (
        await server.query(
          `select from pg_stat_activity where query like 'insert into "key_ring"%' and state = 'active'`,
        )
      ).length > 0;
    await until(isInserting, 'a key is being added');
    proxy.loseResponses();
    await until(async () => (await keys()).length >= 3, 'it was committed');
    await server.query('drop trigger late on key_ring');
    await until(async () => (await replica.askToken()).status === 200, 'tokens are issued');
    const [, , third] = await keys();
    expect(kidOf(await replica.getToken())).toBe(third?.['kid']);
    await untilTwoKeys(replica);
    expect(await keys()).toMatchObject([0, 1, 2, 3].map((step) => ({ step })));
  });

  it('change algorithm, lifetime and secret in one rollout, and back, without a refused token', async () => {
    const [both, reversed] = [join(folder, 'both'), join(folder, 'reversed')];
    const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((bytes) => bytes.toString('base64'));
    writeFileSync(both, `${old}\n${next}\n`, { mode: 0o600 });
    writeFileSync(reversed, `${next}\n${old}\n`, { mode: 0o600 });
    const before = { KEY_SECRET_FILE: both, KEY_PUBLICATION_SECONDS: '5', KEY_ROTATION_SECONDS: '60' };
    const after = { ...before, KEY_SECRET_FILE: reversed, TOKEN_SIGNING_ALG: 'ES256', TOKEN_LIFETIME_SECONDS: '320' };
    await using first = await start(before);
    await using second = await start(before);
    await Promise.all([first.untilReady(), second.untilReady()]);
    const tokens = [await first.getToken()];
    for (const [settings, algorithm] of [
      [after, 'ES256'],
      [before, 'RS256'],
    ] as const) {
      await using one = await start(settings);
      await one.untilReady();
      const load = loadOn(first, second, one);
      await until(async () => algorithmOf(await one.getToken()) === algorithm, `it signs with ${algorithm}`);
      const enough = load.tokens() + 50;
      await until(() => load.tokens() > enough, 'there is load');
      expect(await load.stop()).toEqual([]);
      tokens.push(await one.getToken());
      for (const token of tokens) expect([await first.use(token), await one.use(token)]).toEqual([200, 200]);
    }
    const perStep = await server.query(
      'select count(*)::int as rows, count(distinct (algorithm, step))::int as steps from key_ring',
    );
    expect(perStep[0]?.['rows']).toBe(perStep[0]?.['steps']);
  });

  it('believe no row that was planted, swapped, replayed, prolonged or damaged', async () => {
    await using replica = await start({ KEY_PUBLICATION_SECONDS: '1' });
    await replica.untilReady();
    await untilTwoKeys(replica);
    const kids = (await replica.kids()).toSorted();
    const load = loadOn(replica);
    const seen = (event: string, count: number) =>
      until(() => replica.program.stdout().split(`"event":"${event}"`).length > count, `${count} times ${event}`);
    const columns = 'created_at, known_at, signs_from, verifies_until';
    // A new id, with a seal of another row; a text that looks like a seal; the seal of a key of another step.
    await server.query(`insert into key_ring (kid, algorithm, step, sealed, ${columns})
      select 'planted', 'RS256', 7, sealed, ${columns} from key_ring where step = 0`);
    await server.query(`insert into key_ring (kid, algorithm, step, sealed, ${columns})
      select 'damaged', 'RS256', 8, overlay(sealed placing 'AAAA' from length(sealed) - 30), ${columns} from key_ring where step = 0`);
    await seen('key_damaged', 2);
    await server.query('update key_ring set verifies_until = 99999999999, signs_from = 0, known_at = 0');
    await until(async () => (await keys()).length >= 4, 'the ring goes on');
    expect((await replica.kids()).toSorted()).toEqual(expect.arrayContaining(kids));
    expect(await replica.kids()).not.toEqual(expect.arrayContaining(['planted']));
    expect(await replica.kids()).not.toEqual(expect.arrayContaining(['damaged']));
    expect(await load.stop()).toEqual([]);
    // Two seals that change their places are both damaged: another key takes over, and what was signed before is
    // refused.
    const [first, second] = kids;
    await server.query(
      `update key_ring as one set sealed = other.sealed from key_ring as other
        where one.kid = any($1) and other.kid = any($1) and one.kid <> other.kid`,
      [[first, second]],
    );
    await seen('key_damaged', 4);
    await until(async () => !kids.includes(kidOf(await replica.getToken())), 'another key signs');
  });

  it('verify while the database is away for longer than a rotation, and go on when it is back, without a refused token', async () => {
    const times = { KEY_ROTATION_SECONDS: '10', KEY_PUBLICATION_SECONDS: '1', TOKEN_LIFETIME_SECONDS: '300' };
    await using one = await start(times);
    await using two = await start(times);
    await Promise.all([one.untilReady(), two.untilReady()]);
    await untilTwoKeys(one);
    const tokens = [await one.getToken()];
    const kids = await one.kids();
    await server.kill();
    try {
      expect(await two.use(tokens[0] ?? '')).toBe(200);
      await until(
        async () => (await one.readiness()).text.includes('no key of the ring may sign any more'),
        'all keys have signed',
      );
      expect([(await one.askToken()).status, await two.use(tokens[0] ?? '')]).toEqual([503, 200]);
      expect(await one.kids()).toEqual(expect.arrayContaining([...kids]));
    } finally {
      await server.start();
    }
    await Promise.all([one.untilReady(), two.untilReady()]);
    tokens.push(await one.getToken());
    for (const token of tokens) expect([await one.use(token), await two.use(token)]).toEqual([200, 200]);
    const rows = await keys();
    expect(new Set(rows.map(({ step }) => step)).size).toBe(rows.length);
  });
});

/** Registrations with the client of config/demo, and the settings of a service on them. */
async function createFile() {
  const file = await createSqliteFile();
  const { client_id: clientId, client_secret: secret } = DEMO_TOKEN_REQUEST;
  await file.add({ clientId, clientSecret: await bcrypt.hash(secret, 4), clientName: 'Demo', scope: 'read' });
  const settings = {
    ...SEALED_KEYS,
    CLIENT_REPOSITORY: 'sqlite',
    DATABASE_FILE: file.path,
    KEY_ROTATION_SECONDS: '20',
    KEY_PUBLICATION_SECONDS: '1',
  };
  return { settings, ring: `${file.path}.keys`, [Symbol.asyncDispose]: file.remove };
}

describe('a service with SQLite', () => {
  it('rotates its keys while the ring is away, answers 503 beyond that, and goes on when it is back', async () => {
    await using file = await createFile();
    await using service = await ReplicaWithClocks.start({ ...file.settings, KEY_ROTATION_SECONDS: '8' });
    await service.untilReady();
    await untilTwoKeys(service);
    const tokens = [await service.getToken()];
    const kids = await service.kids();
    renameSync(file.ring, `${file.ring}.away`);
    await until(async () => kidOf(tokens.at(-1) ?? '') !== kidOf(await service.getToken()), 'the next key signs');
    tokens.push(await service.getToken());
    await until(async () => (await service.askToken()).status === 503, 'no key signs any more');
    expect(kids.toSorted()).toEqual((await service.kids()).toSorted());
    for (const token of tokens) expect(await service.use(token)).toBe(200);
    renameSync(`${file.ring}.away`, file.ring);
    await until(async () => (await service.askToken()).status === 200, 'tokens are issued again');
    for (const token of tokens) expect(await service.use(token)).toBe(200);
  });

  it('keeps its keys over restarts and crashes, and follows the known schedule on a full disk', async () => {
    await using file = await createFile();
    const { ring, settings } = file;
    const tokens: string[] = [];
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      await using service = await ReplicaWithClocks.start(settings);
      await service.untilReady();
      tokens.push(await service.getToken());
      for (const token of tokens) expect(await service.use(token)).toBe(200);
      service.program.process.kill(signal);
      await service.program.ended();
    }
    expect(statSync(ring).mode & 0o777).toBe(0o600);

    await using service = await ReplicaWithClocks.start(settings);
    await service.untilReady();
    await untilTwoKeys(service);
    // Nothing that is written may reach beyond this: no journal, and no page.
    limitFiles(service.program, 1);
    const isNoted = async () => (await service.readiness()).text.includes('a key could not be written');
    await until(isNoted, 'a key cannot be added', 60_000);
    expect((await service.readiness()).status).toBe(200);
    expect((await service.askToken()).status).toBe(200);
    for (const token of tokens) expect(await service.use(token)).toBe(200);
    limitFiles(service.program, 'unlimited');
    await until(async () => !(await isNoted()), 'a key is added');
    expect((await service.askToken()).status).toBe(200);
  });
});
