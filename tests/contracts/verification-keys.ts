import { describe, expect, it } from '@jest/globals';
import type { SigningKey, VerificationKeys } from '../../application/ports/key-provider.ts';

const INPUT = 'to be signed';

/** Keys to verify with, and the private half of one of them. */
interface VerificationKeysUnderTest {
  readonly keys: VerificationKeys;
  readonly trusted: SigningKey;
}

/** What every source of verification keys promises. */
export function describeVerificationKeys(name: string, fresh: () => Promise<VerificationKeysUnderTest>): void {
  describe(`${name} as verification keys`, () => {
    it('finds the public half of a trusted key by its id', async () => {
      const { keys, trusted } = await fresh();
      const publicKey = await keys.verificationKey(trusted.kid);
      expect(publicKey?.alg).toBe(trusted.alg);
      const signature = await trusted.sign(INPUT);
      expect([await publicKey?.verify(INPUT, signature), await publicKey?.verify('other', signature)]).toEqual([
        true,
        false,
      ]);
    });

    it('finds the same key for all callers at the same time', async () => {
      const { keys, trusted } = await fresh();
      const found = await Promise.all(Array.from({ length: 50 }, () => keys.verificationKey(trusted.kid)));
      expect(new Set(found).size).toBe(1);
      expect(found[0]).toBeDefined();
    });

    it('finds no key with any other id, however it is spelled', async () => {
      const { keys, trusted } = await fresh();
      const { kid } = trusted;
      const others = [
        '',
        ' ',
        `${kid} `,
        ` ${kid}`,
        `${kid}\0`,
        kid.slice(1),
        kid.slice(0, -1),
        `${kid}${kid}`,
        crypto.randomUUID(),
        '__proto__',
        'constructor',
        'toString',
        '../../../dev/null',
        `${kid}' OR '1'='1`,
        '*',
      ];
      for (const other of others) expect(await keys.verificationKey(other)).toBeUndefined();
      expect(await keys.verificationKey(kid)).toBeDefined();
    });
  });
}
