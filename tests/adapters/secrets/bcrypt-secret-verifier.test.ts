import { describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { BcryptSecretVerifier } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { PlainSecretVerifier } from '../../../adapters/secrets/plain-secret-verifier.ts';
import { StoredSecret } from '../../../domain/stored-secret.ts';
import { describeSecretVerifier } from '../../contracts/secret-verifier.ts';

const hashed = async (secret: string) => StoredSecret.parse(await bcrypt.hash(secret, 4));
const plain = async (secret: string) => StoredSecret.parse(`{noop}${secret}`);

describeSecretVerifier('BcryptSecretVerifier', () => ({ verifier: new BcryptSecretVerifier(4), store: hashed }));
describeSecretVerifier('PlainSecretVerifier on a BCrypt secret', () => ({
  verifier: new PlainSecretVerifier(new BcryptSecretVerifier(4)),
  store: hashed,
}));
describeSecretVerifier('PlainSecretVerifier on a {noop} secret', () => ({
  verifier: new PlainSecretVerifier(new BcryptSecretVerifier(4)),
  store: plain,
}));

describe('BcryptSecretVerifier', () => {
  it('never accepts {noop}', async () => {
    expect(await new BcryptSecretVerifier(4).verify('x', await plain('x'))).toBe('unusable_stored');
  });

  it.each(['$2a$', '$2y$'])('matches a hash that is marked %s', async (version) => {
    const encoding = (await bcrypt.hash('a-secret', 4)).replace('$2b$', version);
    expect(await new BcryptSecretVerifier(4).verify('a-secret', StoredSecret.parse(encoding))).toBe('match');
    expect(await new BcryptSecretVerifier(4).verify('b-secret', StoredSecret.parse(encoding))).toBe('mismatch');
  });
});
