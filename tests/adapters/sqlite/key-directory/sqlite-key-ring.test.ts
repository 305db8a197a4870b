import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SqlKeyRing } from '../../../../adapters/sql/key-directory/sql-key-ring.ts';
import { tablesOf } from '../../../../adapters/sql/transaction.ts';
import { createKeyRingFile, keyRingFile } from '../../../../adapters/sqlite/key-directory/sqlite-key-ring.ts';
import { DependencyUnavailable } from '../../../../application/ports/dependency-unavailable.ts';
import type { KeyRingChange } from '../../../../application/ports/key-ring-records.ts';
import type { SealedKey } from '../../../../application/ports/key-ring-store.ts';
import { describeKeyRingRecords, describeKeyRingStore } from '../../../contracts/key-ring-store.ts';
import { sqliteKeyRing, sqliteKeyRingRecords } from '../../../support/key-rings.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'key-ring-'));
  path = join(folder, 'clients.db.keys');
});
afterEach(() => rmSync(folder, { recursive: true }));

const now = () => Date.now() / 1_000;

function lockFile(locked: string): () => void {
  const other = new DatabaseSync(locked);
  other.exec('begin exclusive');
  return () => other.close();
}

function aKey(kid = 'one'): SealedKey {
  const [signsFrom, verifiesUntil, addedBefore] = [0, 1e10, 1e10];
  return {
    algorithm: 'RS256',
    kid,
    step: 0,
    sealed: 'x',
    publicationSeconds: 1,
    signsFrom,
    verifiesUntil,
    addedBefore,
  };
}

async function fresh() {
  const store = await sqliteKeyRing(path);
  const records = sqliteKeyRingRecords(path);
  return { store, other: await sqliteKeyRing(path), records, now, plant, close: async () => {} };
}

async function plant(rows: number): Promise<void> {
  const database = new DatabaseSync(path);
  database.exec(`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${rows})
    insert into key_ring (kid, created_at, known_at, signs_from, verifies_until) select 'planted-' || n, 0, 0, 0, 1e10 from numbers`);
  database.close();
}

describeKeyRingStore('SqlKeyRing on SQLite', fresh);
describeKeyRingRecords('SqlKeyRingRecords on SQLite', fresh);

describe('the file of the key ring', () => {
  it('is created for its owner only, and no other file stays beside it', async () => {
    await (await sqliteKeyRing(path)).add(aKey());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`, { throwIfNoEntry: false })).toBeUndefined();
    expect(statSync(`${path}-journal`, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('keeps its keys when the service starts again', async () => {
    await (await sqliteKeyRing(path)).add(aKey());
    expect((await (await sqliteKeyRing(path)).read()).rows).toHaveLength(1);
  });

  it('may be replaced by a backup while the service runs', async () => {
    const ring = await sqliteKeyRing(path);
    await ring.add(aKey('yesterday'));
    const backup = readFileSync(path);
    await sqliteKeyRingRecords(path).revoke({ kid: 'yesterday' });
    writeFileSync(path, backup);
    expect((await ring.read()).rows).toMatchObject([{ kid: 'yesterday', revokedAt: undefined }]);
  });

  it('is not created for an operator, who is told what to do', async () => {
    const fault = await sqliteKeyRingRecords(path)
      .list()
      .catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(DependencyUnavailable);
    expect(String((fault as Error).cause)).toContain(
      'does not exist: restore it from a backup; a start of the service creates an empty one',
    );
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  it.each([
    [
      'is of another program',
      () => new DatabaseSync(path).exec('create table notes (text)'),
      'is no key ring of this version',
    ],
    [
      'is of a newer version',
      () =>
        new DatabaseSync(path).exec(
          'pragma application_id = 1667457387; pragma user_version = 2; create table key_ring (kid)',
        ),
      'is no key ring of this version',
    ],
    ['is no database', () => writeFileSync(path, 'x'.repeat(5_000)), 'is not a database of SQLite'],
  ])('that %s is refused at startup', async (_what, prepare, problem) => {
    prepare();
    await expect(sqliteKeyRing(path)).rejects.toThrow(problem);
  });

  it('is reported if this user may not write it', async () => {
    if (process.getuid?.() === 0) return;
    const ring = await sqliteKeyRing(path);
    chmodSync(path, 0o400);
    await expect(ring.add(aKey())).rejects.toThrow(DependencyUnavailable);
  });

  it('waits for no lock for long', async () => {
    const ring = await sqliteKeyRing(path);
    const other = new DatabaseSync(path);
    other.exec('begin exclusive');
    const fault = await ring.read().catch((error: unknown) => error);
    expect(String((fault as Error).cause)).toContain('is locked by another program');
    other.close();
    expect((await ring.read()).rows).toEqual([]);
  });

  const RESTORE = 'restore it from a backup before the next start';
  const UNLOCK = 'find it with fuser, and end it or wait for it';
  it.each<[how: string, spoil: () => (() => void) | undefined, text: string, fix: string]>([
    ['deleted', () => void rmSync(path), 'does not exist', RESTORE],
    ['damaged', () => void writeFileSync(path, 'x'.repeat(5_000)), 'is not a database', RESTORE],
    ['locked', () => lockFile(path), 'is locked by another program', UNLOCK],
  ])('that is %s while it is used is noted, with what to do, until it is back', async (_how, spoil, text, fix) => {
    await createKeyRingFile(path);
    const file = keyRingFile(path);
    const ring = new SqlKeyRing(tablesOf(file));
    await ring.add(aKey());
    expect(file.readiness()).toEqual({ ready: true });
    const backup = readFileSync(path);
    const unlock = spoil();
    await expect(ring.read()).rejects.toThrow(DependencyUnavailable);
    const note = { text: expect.stringContaining(text), fix: expect.stringContaining(fix) };
    expect(file.readiness()).toMatchObject({ ready: true, note });
    unlock?.();
    writeFileSync(path, backup);
    expect((await ring.read()).rows).toHaveLength(1);
    expect(file.readiness()).toEqual({ ready: true });
  });

  it('changes only what is recorded', async () => {
    const changes: (readonly KeyRingChange[])[] = [];
    await (await sqliteKeyRing(path)).add(aKey());
    const others = { unconfirmed: () => {} };
    const recorder = { record: (change: readonly KeyRingChange[]) => void changes.push(change), ...others };
    const ring = sqliteKeyRingRecords(path, recorder);
    await ring.end('one', 5);
    await ring.revoke('all');
    await ring.revoke('all');
    expect(changes).toEqual([
      [{ change: 'ended', kid: 'one', endsAt: 5 }],
      [{ change: 'revoked', kid: 'one', verifiesUntil: 1e10 }],
    ]);
    const refusing = sqliteKeyRingRecords(path, {
      record: () => {
        throw new Error('the disk is full');
      },
      ...others,
    });
    await expect(refusing.revoke({ kid: 'two' })).rejects.toThrow('the disk is full');
    expect((await ring.list()).rows).toHaveLength(1);
  });
});
