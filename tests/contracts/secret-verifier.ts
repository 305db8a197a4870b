import { describe, expect, it } from '@jest/globals';
import type { SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { StoredSecret } from '../../domain/stored-secret.ts';

/** What a test of a secret verifier needs: the verifier, and how a secret is stored for it. */
interface SecretVerifierFixture {
  readonly verifier: SecretVerifier;
  readonly store: (secret: string) => Promise<StoredSecret>;
}

export function describeSecretVerifier(name: string, fresh: () => SecretVerifierFixture): void {
  describe(`${name} keeps the promises of SecretVerifier`, () => {
    it.each(['a-secret', 'ein geheimes Wört 😀', ' ', 'a'.repeat(72), 'é'.repeat(36), '{noop}x', '$2b$04$'])(
      'matches %j with itself',
      async (secret) => {
        const { verifier, store } = fresh();
        expect(await verifier.verify(secret, await store(secret), true)).toBe('match');
      },
    );

    it.each([
      ['a-secret', 'A-secret'],
      ['a-secret', 'a-secret '],
      ['a-secret', 'a-secre'],
      ['é', 'e\u0301'],
      ['a'.repeat(72), 'a'.repeat(71)],
    ])('does not match %j with %j', async (stored, presented) => {
      const { verifier, store } = fresh();
      expect(await verifier.verify(presented, await store(stored), true)).toBe('mismatch');
    });

    it.each(['a-secret', 'another-secret'])('never matches %j with the secret of another client', async (presented) => {
      const { verifier, store } = fresh();
      expect(await verifier.verify(presented, await store('a-secret'), false)).toBe('mismatch');
      expect(await verifier.verify(presented, StoredSecret.parse('*'), false)).toBe('mismatch');
    });

    it.each(['', `${'a'.repeat(72)}b`, 'a-secret\0', 'a-secret\0b', '\0'])(
      'finds the presented secret %j unusable',
      async (presented) => {
        const { verifier, store } = fresh();
        expect(await verifier.verify(presented, await store('a'.repeat(72)), true)).toBe('unusable_presented');
        expect(await verifier.verify(presented, await store('a-secret'), true)).toBe('unusable_presented');
      },
    );

    it.each([
      '!',
      '!$2b$04$',
      'a-secret',
      '{bcrypt}x',
      '{noop}',
      '$2b$31$abcdefghijklmnopqrstuvAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    ])('matches nothing with the stored %j', async (encoded) => {
      const { verifier } = fresh();
      for (const presented of ['a-secret', encoded]) {
        expect(await verifier.verify(presented, StoredSecret.parse(encoded), true)).toBe('unusable_stored');
      }
    });
  });
}
