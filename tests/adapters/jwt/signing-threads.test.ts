import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { SIGNATURES_WAITING_MAX, SigningThreads } from '../../../adapters/jwt/signing-threads.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';

const rsa = (modulusLength = 2_048) => generateKeyPairSync('rsa', { modulusLength });
const [ONE, OTHER] = [rsa(), rsa()];
const BY_ONE = { key: ONE.privateKey };
const BY_OTHER = { key: OTHER.privateKey };

const isSignedBy = (key: KeyObject, input: string, signature: string) =>
  verify('sha256', Buffer.from(input), key, Buffer.from(signature, 'base64url'));

/** A thread that answers with this in place of signatures. */
const answering = (expression: string) =>
  `const { parentPort } = require('node:worker_threads');
   parentPort.on('message', ({ inputs }) => parentPort.postMessage(${expression}));`;

const SIZE_OF_BATCH = answering('inputs.map(() => String(inputs.length))');
const INPUTS = answering('inputs');
const NOTHING = "require('node:worker_threads').parentPort.on('message', () => {});";

const opened: SigningThreads[] = [];
function open(count: number, code?: string, now?: () => number): SigningThreads {
  const threads = new SigningThreads(count, code, now);
  opened.push(threads);
  return threads;
}
afterEach(async () => {
  for (const threads of opened.splice(0)) await threads.close();
});

const numbers = (count: number) => Array.from({ length: count }, (_, number) => String(number));

describe('signing threads', () => {
  it('sign with the key of each input, however the keys are mixed', async () => {
    const threads = open(2);
    const jobs = numbers(100).map((input, position) => ({
      input,
      ...(position % 7 < 3 ? { by: BY_ONE, key: ONE.publicKey } : { by: BY_OTHER, key: OTHER.publicKey }),
    }));
    await Promise.all(
      jobs.map(async ({ by, key, input }) => {
        expect(isSignedBy(key, input, await threads.sign(by, input))).toBe(true);
      }),
    );
  });

  it('sign a batch of 16 at most, of what one pass of the event loop brought', async () => {
    const threads = open(1, SIZE_OF_BATCH);
    const sizes = await Promise.all(numbers(38).map((input) => threads.sign(BY_ONE, input)));
    expect(sizes).toEqual([...Array(16).fill('16'), ...Array(16).fill('16'), ...Array(6).fill('6')]);
  });

  it('share what waits', async () => {
    const threads = open(3, SIZE_OF_BATCH);
    const sizes = await Promise.all(numbers(8).map((input) => threads.sign(BY_ONE, input)));
    expect(sizes.toSorted()).toEqual(['2', '2', '3', '3', '3', '3', '3', '3']);
  });

  it('begin another batch where the key changes, so a rotation mixes no keys', async () => {
    const threads = open(1, SIZE_OF_BATCH);
    const keys = [BY_ONE, BY_ONE, BY_ONE, BY_OTHER, BY_OTHER, BY_ONE];
    expect(await Promise.all(keys.map((by) => threads.sign(by, 'input')))).toEqual(['3', '3', '3', '2', '2', '1']);
  });

  it('sign first in, first out', async () => {
    const threads = open(1, INPUTS);
    const signed: string[] = [];
    const inputs = numbers(100);
    await Promise.all(inputs.map(async (input) => signed.push(await threads.sign(BY_ONE, input))));
    expect(signed).toEqual(inputs);
  });

  it('refuse a signature while too many wait', async () => {
    const threads = open(1, NOTHING);
    const waiting = Promise.allSettled(numbers(SIGNATURES_WAITING_MAX).map((input) => threads.sign(BY_ONE, input)));
    expect(threads.waiting).toBe(SIGNATURES_WAITING_MAX);
    await expect(threads.sign(BY_ONE, 'one too many')).rejects.toThrow(DependencyUnavailable);
    await threads.close();
    expect((await waiting).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('refuse a signature behind one that has waited for a second', async () => {
    const time = { ms: 0 };
    const threads = open(1, NOTHING, () => time.ms);
    // The first one is in progress when the second one waits.
    const [first] = [threads.sign(BY_ONE, 'in progress'), await new Promise(setImmediate)];
    const waiting = threads.sign(BY_ONE, 'waits');
    time.ms = 1_000;
    const next = threads.sign(BY_ONE, 'waits too');
    time.ms = 1_001;
    await expect(threads.sign(BY_ONE, 'too late')).rejects.toThrow(DependencyUnavailable);
    expect(threads.waiting).toBe(2);
    const outcomes = Promise.allSettled([first, waiting, next]);
    await threads.close();
    expect((await outcomes).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it.each(['[]', 'null', '[...inputs, 1]'])('fail the batch of a thread that answers %s, and go on', async (reply) => {
    const threads = open(1, answering(`inputs[0] === 'bad' ? ${reply} : inputs`));
    await expect(threads.sign(BY_ONE, 'bad')).rejects.toThrow(DependencyUnavailable);
    expect(await threads.sign(BY_ONE, 'good')).toBe('good');
  });

  it('refuse signatures once they are closed, also those in progress', async () => {
    const threads = open(1, NOTHING);
    const inProgress = expect(threads.sign(BY_ONE, 'input')).rejects.toThrow(DependencyUnavailable);
    // The batch is sent in the next pass.
    await new Promise(setImmediate);
    expect(threads.waiting).toBe(0);
    await threads.close();
    await inProgress;
    await expect(threads.sign(BY_ONE, 'input')).rejects.toThrow(DependencyUnavailable);
  });

  it('leave the event loop to others, also with a key of 4,096 bits', async () => {
    const file = { key: rsa(4_096).privateKey, kid: 'large' };
    const factory = createKeyFactory({ ids: new RandomIdGenerator(), threads: open(2), file });
    const { sign } = await factory.make('RS256');
    await sign('the threads have started');
    const SIGNATURES = 32;
    let passes = 0;
    let isDone = false;
    const count = () => {
      passes += 1;
      if (!isDone) setImmediate(count);
    };
    count();
    await Promise.all(numbers(SIGNATURES).map(sign));
    isDone = true;
    // On the event loop, all of them are made in a few passes.
    expect(passes).toBeGreaterThan(SIGNATURES);
  });

  it('keep no process alive that has nothing to sign, but one that waits for a signature', () => {
    const script = `
      import { generateKeyPairSync } from 'node:crypto';
      const { SigningThreads } = await import(${JSON.stringify(new URL('../../../adapters/jwt/signing-threads.ts', import.meta.url))});
      const threads = new SigningThreads(2);
      threads.start();
      const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
      threads.sign({ key }, 'input').then((signature) => console.log(signature.length));
    `;
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { timeout: 60_000 });
    expect([status, String(stdout)]).toEqual([0, '342\n']);
  });
});

describe('a signing thread that ends', () => {
  /** A thread that signs while there is a file, and otherwise ends in this way. */
  function breakable(end: string) {
    const folder = mkdtempSync(join(tmpdir(), 'thread-'));
    const file = join(folder, 'works');
    const code = `if (!require('node:fs').existsSync(${JSON.stringify(file)})) { ${end} } ${INPUTS}`;
    return { code, repair: () => writeFileSync(file, ''), remove: () => rmSync(folder, { recursive: true }) };
  }

  it.each([
    ['by an exception', "throw new Error('broken')"],
    ['by itself', 'process.exit(1)'],
    ['since its memory is full', 'const all = []; for (;;) all.push(new Array(1_000).fill(Math.random()));'],
  ])('%s fails its batch, and is replaced for the next one', async (_how, end) => {
    const { code, repair, remove } = breakable(end);
    const threads = open(1, code);
    const batch = await Promise.allSettled(numbers(3).map((input) => threads.sign(BY_ONE, input)));
    for (const outcome of batch) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { dependency: 'signing threads' } });
    }
    repair();
    expect(await threads.sign(BY_ONE, 'next')).toBe('next');
    remove();
  });

  it('fails no other batch: those that wait are signed by the next thread', async () => {
    const { code, repair, remove } = breakable('process.exit(1)');
    const threads = open(1, code);
    const signatures = numbers(20).map((input) => threads.sign(BY_ONE, input));
    await expect(signatures[0]).rejects.toThrow(DependencyUnavailable);
    repair();
    const outcomes = await Promise.allSettled(signatures);
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...Array(16).fill('rejected'),
      ...Array(4).fill('fulfilled'),
    ]);
    remove();
  });

  it('fails each signature as long as it cannot start', async () => {
    const threads = open(1, 'this is no program');
    for (const input of numbers(3)) {
      await expect(threads.sign(BY_ONE, input)).rejects.toThrow(DependencyUnavailable);
    }
  });
});
