import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { BcryptSecretVerifier } from '../../../adapters/bcrypt/bcrypt-secret-verifier.ts';
import { RememberingSecretVerifier } from '../../../adapters/lru-cache/remembering-secret-verifier.ts';
import type { SecretVerifier } from '../../../application/ports/secret-verifier.ts';
import { StoredSecret } from '../../../domain/stored-secret.ts';
import { describeSecretVerifier, presenting } from '../../contracts/secret-verifier.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

const SECONDS = 300;
const hashed = async (secret: string) => StoredSecret.parse(await bcrypt.hash(secret, 4));

/** A remembering verifier on real BCrypt, and how many checks it has asked for. */
function world({ clientsMax = 10 } = {}) {
  const clock = new FixedClock();
  const bcryptVerifier = new BcryptSecretVerifier(4);
  let checks = 0;
  const counting: SecretVerifier = {
    verify(credentials, stored) {
      checks += 1;
      return bcryptVerifier.verify(credentials, stored);
    },
  };
  const verifier = new RememberingSecretVerifier(counting, clock, SECONDS, clientsMax);
  return { clock, verifier, checks: () => checks };
}

describeSecretVerifier('RememberingSecretVerifier', () => ({ verifier: world().verifier, store: hashed }));

describe('RememberingSecretVerifier', () => {
  it('checks a secret once that proved good, until its time is over', async () => {
    const { clock, verifier, checks } = world();
    const stored = await hashed('a-secret');
    for (let time = 0; time < 5; time += 1) {
      expect(await verifier.verify(presenting('a-secret'), stored)).toBe('match');
    }
    expect(checks()).toBe(1);
    clock.advance(SECONDS - 1);
    await verifier.verify(presenting('a-secret'), stored);
    expect(checks()).toBe(1);
    clock.advance(1);
    await verifier.verify(presenting('a-secret'), stored);
    expect(checks()).toBe(2);
  });

  it('knows one registration read twice for the same', async () => {
    const { verifier, checks } = world();
    const encoding = await bcrypt.hash('a-secret', 4);
    await verifier.verify(presenting('a-secret'), StoredSecret.parse(encoding));
    await verifier.verify(presenting('a-secret'), StoredSecret.parse(encoding));
    expect(checks()).toBe(1);
  });

  it('never remembers a refusal: each wrong secret, unknown client and unusable hash is checked anew', async () => {
    const { verifier, checks } = world();
    const stored = await hashed('a-secret');
    for (let time = 0; time < 3; time += 1) {
      expect(await verifier.verify(presenting('wrong-secret'), stored)).toBe('mismatch');
      expect(await verifier.verify(presenting('a-secret'), undefined)).toBe('mismatch');
      expect(await verifier.verify(presenting('a-secret'), StoredSecret.parse('!'))).toBe('unusable_stored');
    }
    expect(checks()).toBe(9);
  });

  it('lets nobody in on what is remembered of another secret, another client or another time of the same client', async () => {
    const { verifier } = world();
    const stored = await hashed('a-secret');
    await verifier.verify(presenting('a-secret'), stored);
    expect(await verifier.verify(presenting('a-secre'), stored)).toBe('mismatch');
    expect(await verifier.verify({ clientId: 'b-client', clientSecret: 'a-secret' }, await hashed('b-secret'))).toBe(
      'mismatch',
    );
  });

  it('refuses at once what was remembered, when the registration has a new, locked or no hash', async () => {
    const { verifier } = world();
    const encoding = await bcrypt.hash('a-secret', 4);
    await verifier.verify(presenting('a-secret'), StoredSecret.parse(encoding));
    expect(await verifier.verify(presenting('a-secret'), await hashed('new-secret'))).toBe('mismatch');
    expect(await verifier.verify(presenting('a-secret'), StoredSecret.parse(`!${encoding}`))).toBe('unusable_stored');
    expect(await verifier.verify(presenting('a-secret'), undefined)).toBe('mismatch');
  });

  it('goes on knowing a client at whose name others send wrong secrets', async () => {
    const { verifier, checks } = world();
    const stored = await hashed('a-secret');
    await verifier.verify(presenting('a-secret'), stored);
    for (let time = 0; time < 20; time += 1) await verifier.verify(presenting(`wrong-secret-${time}`), stored);
    const before = checks();
    expect(await verifier.verify(presenting('a-secret'), stored)).toBe('match');
    expect(checks()).toBe(before);
  });

  it('remembers no more clients than it may, and forgets those first who came longest ago', async () => {
    const { verifier, checks } = world({ clientsMax: 2 });
    const stored = await hashed('a-secret');
    const come = (clientId: string) => verifier.verify({ clientId, clientSecret: 'a-secret' }, stored);
    for (const clientId of ['one', 'two', 'one', 'three', 'one']) await come(clientId);
    expect(checks()).toBe(3);
    await come('two');
    expect(checks()).toBe(4);
  });

  it('holds no secret that an inspection of the process would show', async () => {
    const { verifier } = world();
    await verifier.verify(presenting('a-secret'), await hashed('a-secret'));
    expect(inspect(verifier, { depth: 9, showHidden: true })).not.toContain('a-secret');
  });
});
