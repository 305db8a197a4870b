import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import type { Sign } from '../../../adapters/jwt/sign-loop.ts';
import { SIGNATURES_MAX, SigningThreads } from '../../../adapters/jwt/signing-threads.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';

const rsa = (modulusLength = 2_048) => generateKeyPairSync('rsa', { modulusLength });
const [ONE, OTHER, THIRD] = [rsa(), rsa(), rsa()];
const BY_ONE = { key: ONE.privateKey };

const isSignedBy = (key: KeyObject, input: string, signature: string) =>
  verify('sha256', Buffer.from(input), key, Buffer.from(signature, 'base64url'));

/** Its signature is the input. */
const repeat = (): Sign => (input) => Uint8Array.from(input);
const never = (): Sign => () => {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
/** The input names a file. */
const whenFileExists = (): Sign => {
  const { existsSync } = process.getBuiltinModule('node:fs');
  return (input) => {
    const path = Buffer.from(input).toString();
    for (let waited = 0; waited < 1_000 && !existsSync(path); waited += 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
    return Buffer.from(existsSync(path) ? 'the file exists' : 'nothing else happened meanwhile');
  };
};
const signatureOf = (input: string) => Buffer.from(input).toString('base64url');

const opened: SigningThreads[] = [];
function open(count: number, createSign?: () => Sign, now?: () => number): SigningThreads {
  const threads = new SigningThreads(count, createSign, now);
  opened.push(threads);
  return threads;
}
afterEach(async () => {
  for (const threads of opened.splice(0)) await threads.close();
});

const numbers = (count: number) => Array.from({ length: count }, (_, number) => String(number));

describe('signing threads', () => {
  it('sign with the key of each input, however many keys are mixed', async () => {
    const threads = open(2);
    const keys = [ONE, OTHER, THIRD].map(({ privateKey, publicKey }) => ({ by: { key: privateKey }, publicKey }));
    await Promise.all(
      numbers(120).map(async (input, position) => {
        const { by, publicKey } = keys[Math.trunc(position / 4) % 3] as (typeof keys)[number];
        expect(isSignedBy(publicKey, input, await threads.sign(by, input))).toBe(true);
      }),
    );
  });

  it('give each caller its own signature, many times around the ring', async () => {
    const threads = open(3, repeat);
    const callers = numbers(100).map(async (caller) => {
      for (const call of numbers(50)) {
        const input = `${caller}.${call}.${'x'.repeat(Number(caller) * 70)}`;
        expect(await threads.sign(BY_ONE, input)).toBe(signatureOf(input));
      }
    });
    await Promise.all(callers);
    expect(threads.inProgress).toBe(0);
  });

  it('sign first in, first out', async () => {
    const threads = open(1, repeat);
    const signed: string[] = [];
    const inputs = numbers(100);
    await Promise.all(inputs.map(async (input) => signed.push(await threads.sign(BY_ONE, input))));
    expect(signed).toEqual(inputs.map(signatureOf));
  });

  it('deliver what is ready while another thread still signs an older one', async () => {
    const createSign = (): Sign => (input) => {
      if (String.fromCharCode(...input) === 'slow')
        for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      return Uint8Array.from(input);
    };
    // The clock stands still: on a busy machine, all of this may take more than the second that a signature may wait.
    const threads = open(2, createSign, () => 0);
    const slow = expect(threads.sign(BY_ONE, 'slow')).rejects.toThrow(DependencyUnavailable);
    for (const input of numbers(50)) expect(await threads.sign(BY_ONE, input)).toBe(signatureOf(input));
    expect(threads.inProgress).toBe(51);
    await threads.close();
    await slow;
  });

  it('refuse an input that is longer than any token', async () => {
    const threads = open(1, repeat);
    await expect(threads.sign(BY_ONE, 'x'.repeat(8_193))).rejects.toThrow(RangeError);
    expect(await threads.sign(BY_ONE, 'x'.repeat(8_192))).toBe(signatureOf('x'.repeat(8_192)));
  });

  it('refuse a signature while too many wait', async () => {
    const threads = open(1, never);
    const waiting = Promise.allSettled(numbers(SIGNATURES_MAX).map((input) => threads.sign(BY_ONE, input)));
    expect(threads.inProgress).toBe(SIGNATURES_MAX);
    await expect(threads.sign(BY_ONE, 'one too many')).rejects.toThrow(DependencyUnavailable);
    await threads.close();
    expect((await waiting).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('refuse a signature behind one that has waited for a second', async () => {
    const time = { ms: 0 };
    const threads = open(1, never, () => time.ms);
    const waiting = threads.sign(BY_ONE, 'waits');
    time.ms = 1_000;
    const next = threads.sign(BY_ONE, 'waits too');
    time.ms = 1_001;
    await expect(threads.sign(BY_ONE, 'too late')).rejects.toThrow(DependencyUnavailable);
    expect(threads.inProgress).toBe(2);
    const outcomes = Promise.allSettled([waiting, next]);
    await threads.close();
    expect((await outcomes).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('refuse none behind one that is ready, though the process was stopped before its caller got it', async () => {
    const time = { ms: 0 };
    const folder = mkdtempSync(join(tmpdir(), 'signing-threads-'));
    const createSign = (): Sign => (input) => {
      const { writeFileSync } = process.getBuiltinModule('node:fs');
      const text = String.fromCharCode(...input);
      if (text.startsWith('/')) writeFileSync(text, '');
      return Uint8Array.from(input);
    };
    const threads = open(1, createSign, () => time.ms);
    const ready = threads.sign(BY_ONE, 'ready');
    time.ms = 500;
    const begun = join(folder, 'begun');
    const next = threads.sign(BY_ONE, begun);
    // The event loop does not run meanwhile, as if the process were stopped.
    while (!existsSync(begun));
    time.ms = 1_400;
    expect(await threads.sign(BY_ONE, 'last')).toBe(signatureOf('last'));
    expect(await Promise.all([ready, next])).toEqual(['ready', begun].map(signatureOf));
    rmSync(folder, { recursive: true });
  });

  it('sign each input once, wherever the system halts a thread for a moment', async () => {
    const halting = (): Sign => {
      const never = new Int32Array(new SharedArrayBuffer(4));
      const { wait } = Atomics;
      for (const name of ['load', 'store', 'add', 'exchange', 'compareExchange'] as const) {
        const operation = Atomics[name] as (...args: unknown[]) => number;
        const halted = (...args: unknown[]) => {
          const result = operation(...args);
          if (Math.random() < 0.1) wait(never, 0, 0, 1);
          return result;
        };
        Object.assign(Atomics, { [name]: halted });
      }
      return (input) => Uint8Array.from(input);
    };
    const threads = open(3, halting);
    const callers = numbers(4).map(async (caller) => {
      for (const call of numbers(300)) {
        expect(await threads.sign(BY_ONE, `${caller}.${call}`)).toBe(signatureOf(`${caller}.${call}`));
      }
    });
    await Promise.all(callers);
    expect(threads.inProgress).toBe(0);
  });

  it('refuse signatures once they are closed, also those in progress', async () => {
    const threads = open(1, never);
    const inProgress = expect(threads.sign(BY_ONE, 'input')).rejects.toThrow(DependencyUnavailable);
    await threads.close();
    await inProgress;
    await expect(threads.sign(BY_ONE, 'input')).rejects.toThrow(DependencyUnavailable);
  });

  it('leave the event loop to others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'signing-'));
    const factory = createKeyFactory({ ids: new RandomIdGenerator(), threads: open(1, whenFileExists) });
    const { sign } = await factory.make('RS256');
    const file = join(folder, 'is-turning');
    const signature = sign(file);
    // If the signature were made on the event loop, this would come after it.
    setImmediate(() => writeFileSync(file, ''));
    expect(await signature).toBe(signatureOf('the file exists'));
    rmSync(folder, { recursive: true });
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

  it('keep the process alive until all are closed', () => {
    const script = `
      const { SigningThreads } = await import(${JSON.stringify(new URL('../../../adapters/jwt/signing-threads.ts', import.meta.url))});
      const threads = new SigningThreads(4, () => (input) => Uint8Array.from(input));
      threads.sign({}, 'input').then(() => threads.close()).then(() => console.log('closed'));
    `;
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { timeout: 60_000 });
    expect([status, String(stdout)]).toEqual([0, 'closed\n']);
  });
});

describe('a signing thread that ends', () => {
  it.each<[string, () => Sign]>([
    [
      'by an exception',
      () => (input) => {
        if (input.length > 4) throw new Error('broken');
        return Uint8Array.from(input);
      },
    ],
    [
      'by itself',
      () => (input) => {
        if (input.length > 4) process.exit(1);
        return Uint8Array.from(input);
      },
    ],
    [
      'since its memory is full',
      () => (input) => {
        const all: number[][] = [];
        while (input.length > 4) all.push(new Array(1_000).fill(Math.random()));
        return Uint8Array.from(input);
      },
    ],
  ])('%s fails its own signature, and is replaced for those that wait', async (_how, createSign) => {
    const threads = open(1, createSign);
    const inputs = ['a', 'broken', 'b', 'c', 'broken too', 'd'];
    const outcomes = await Promise.allSettled(inputs.map((input) => threads.sign(BY_ONE, input)));
    expect(outcomes).toMatchObject(
      inputs.map((input) =>
        input.length > 4
          ? { status: 'rejected', reason: { dependency: 'signing threads' } }
          : { status: 'fulfilled', value: signatureOf(input) },
      ),
    );
    expect(await threads.sign(BY_ONE, 'next')).toBe(signatureOf('next'));
  });

  it('before it has taken what it was woken for, leaves it to the others', async () => {
    const endWhenWoken = (): Sign => {
      const { workerData } = process.getBuiltinModule('node:worker_threads');
      const { wait } = Atomics;
      const waitAndEnd = (...args: [Int32Array, number, number]) => {
        const outcome = wait(...args);
        if (workerData.self === 2 && outcome === 'ok') throw new Error('ends');
        return outcome;
      };
      Object.assign(Atomics, { wait: waitAndEnd });
      return (input) => Uint8Array.from(input);
    };
    const threads = open(2, endWhenWoken);
    for (const input of numbers(40)) {
      expect(await threads.sign(BY_ONE, input)).toBe(signatureOf(input));
      // Mostly both threads wait by then, and the one that has waited for longer is woken.
      await delay(2);
    }
  });

  it('fails each signature as long as no thread can start', async () => {
    const threads = open(2, 'this is no function' as never);
    const outcomes = await Promise.allSettled(numbers(3).map((input) => threads.sign(BY_ONE, input)));
    for (const outcome of [...outcomes, ...(await Promise.allSettled([threads.sign(BY_ONE, 'next')]))]) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { dependency: 'signing threads' } });
    }
  });
});
