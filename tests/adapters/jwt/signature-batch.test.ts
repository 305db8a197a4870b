import { describe, expect, it } from '@jest/globals';
import { SignatureBatch } from '../../../adapters/jwt/rs256-token-signer.ts';
import type { SigningKey } from '../../../application/ports/key-provider.ts';

const bytes = (number: number) => Uint8Array.of(number);

/** A key that tells in which turn of the event loop it signed, and refuses one number. */
function recordingKey(refused?: number) {
  const turns: number[] = [];
  let turn = 0;
  const count = () => {
    turn += 1;
    if (turn < 100) setImmediate(count);
  };
  setImmediate(count);
  const key: SigningKey = {
    kid: 'a-key',
    sign(data) {
      if (data[0] === refused) throw new Error('refused');
      turns.push(turn);
      return data;
    },
  };
  return { key, turns };
}

describe('SignatureBatch', () => {
  it('answers each its own signature, in order', async () => {
    const batch = new SignatureBatch();
    const { key } = recordingKey();
    const answered: number[] = [];
    const numbers = Array.from({ length: 100 }, (_, number) => number);
    await Promise.all(
      numbers.map(async (number) => {
        const [first = -1] = await batch.sign(key, bytes(number));
        expect(first).toBe(number);
        answered.push(first);
      }),
    );
    expect(answered).toEqual(numbers);
  });

  it('signs 16 in a turn of the event loop and leaves the others to the next', async () => {
    const batch = new SignatureBatch();
    const { key, turns } = recordingKey();
    await Promise.all(Array.from({ length: 38 }, (_, number) => batch.sign(key, bytes(number))));
    const [first = 0] = turns;
    expect(turns).toEqual([...Array(16).fill(first), ...Array(16).fill(first + 1), ...Array(6).fill(first + 2)]);
  });

  it('rejects the one that the key refuses, and signs the others', async () => {
    const batch = new SignatureBatch();
    const { key } = recordingKey(1);
    const outcomes = await Promise.allSettled([0, 1, 2].map((number) => batch.sign(key, bytes(number))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('takes what comes while it answers', async () => {
    const batch = new SignatureBatch();
    const { key } = recordingKey();
    expect(await batch.sign(key, bytes(1)).then(() => batch.sign(key, bytes(2)))).toEqual(bytes(2));
  });
});
