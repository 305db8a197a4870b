import { describe, expect, it } from '@jest/globals';
import { signAll } from '../../../adapters/jwt/node-crypto-token-signer.ts';
import { Batches } from '../../../application/batches.ts';
import type { SigningKey } from '../../../application/ports/key-provider.ts';

const bytes = (number: number) => Uint8Array.of(number);

/** A key that records the pass of the event loop in which it signs, and throws for one number. */
function recordingKey(refused?: number) {
  const passes: number[] = [];
  let pass = 0;
  const count = () => {
    pass += 1;
    if (pass < 100) setImmediate(count);
  };
  setImmediate(count);
  const key: SigningKey = {
    kid: 'a-key',
    alg: 'RS256',
    sign(data) {
      if (data[0] === refused) throw new Error('refused');
      passes.push(pass);
      return data;
    },
  };
  return { key, passes };
}

/** As the signer of tokens uses it. */
class SignatureBatch {
  readonly #signatures = new Batches(signAll, { max: 16 });

  sign(key: SigningKey, data: Uint8Array): Promise<Uint8Array> {
    return this.#signatures.add({ key, data });
  }
}

describe('signatures in batches', () => {
  it('returns to each caller its own signature, in order', async () => {
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

  it('signs 16 in one pass of the event loop, and the others in the next', async () => {
    const batch = new SignatureBatch();
    const { key, passes } = recordingKey();
    await Promise.all(Array.from({ length: 38 }, (_, number) => batch.sign(key, bytes(number))));
    const [first = 0] = passes;
    expect(passes).toEqual([...Array(16).fill(first), ...Array(16).fill(first + 1), ...Array(6).fill(first + 2)]);
  });

  it('rejects a batch whose key throws, and signs the next one', async () => {
    const batch = new SignatureBatch();
    const { key } = recordingKey(1);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 18 }, (_, number) => batch.sign(key, bytes(number))),
    );
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...Array(16).fill('rejected'),
      ...Array(2).fill('fulfilled'),
    ]);
  });

  it('accepts more while it settles a batch', async () => {
    const batch = new SignatureBatch();
    const { key } = recordingKey();
    expect(await batch.sign(key, bytes(1)).then(() => batch.sign(key, bytes(2)))).toEqual(bytes(2));
  });
});
