import { describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import type { EncodeSecret } from '../../application/ports/new-secrets.ts';
import { StoredSecret } from '../../domain/stored-secret.ts';

/** What every EncodeSecret promises. */
export function describeSecretEncoder(name: string, encode: EncodeSecret): void {
  describe(`${name} as EncodeSecret`, () => {
    it('returns a BCrypt encoding with the given cost that matches this secret and no other', async () => {
      const encoded = await encode('a sécret', 5);
      expect(StoredSecret.parse(encoded)).toMatchObject({ kind: 'bcrypt', cost: 5 });
      expect(await bcrypt.compare('a sécret', encoded)).toBe(true);
      expect(await bcrypt.compare('a secret', encoded)).toBe(false);
    });

    it('uses a new salt for each encoding', async () => {
      expect(await encode('secret', 4)).not.toBe(await encode('secret', 4));
    });
  });
}
