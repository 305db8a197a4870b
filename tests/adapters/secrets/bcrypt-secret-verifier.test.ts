import { describe, expect, it, jest } from '@jest/globals';
import bcrypt from 'bcrypt';
import { BcryptSecretVerifier } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { StoredSecret } from '../../../domain/stored-secret.ts';
import { describeSecretVerifier } from '../../contracts/secret-verifier.ts';

const COSTS = { cost: 4, costMax: 6 };

const hashed = async (secret: string) => StoredSecret.parse(await bcrypt.hash(secret, 4));
const plain = async (secret: string) => StoredSecret.parse(`{noop}${secret}`);

describeSecretVerifier('BcryptSecretVerifier', () => ({ verifier: new BcryptSecretVerifier(COSTS), store: hashed }));
describeSecretVerifier('BcryptSecretVerifier with {noop} secrets, on a BCrypt secret', () => ({
  verifier: new BcryptSecretVerifier({ ...COSTS, hasPlainSecrets: true }),
  store: hashed,
}));
describeSecretVerifier('BcryptSecretVerifier with {noop} secrets, on a {noop} secret', () => ({
  verifier: new BcryptSecretVerifier({ ...COSTS, hasPlainSecrets: true }),
  store: plain,
}));

const NOTHING = StoredSecret.parse('*');

describe('BcryptSecretVerifier', () => {
  it('never accepts {noop}', async () => {
    expect(await new BcryptSecretVerifier(COSTS).verify('x', await plain('x'), true)).toBe('unusable_stored');
  });

  it.each(['$2a$', '$2y$'])('matches a hash that is marked %s', async (version) => {
    const encoding = (await bcrypt.hash('a-secret', 4)).replace('$2b$', version);
    expect(await new BcryptSecretVerifier(COSTS).verify('a-secret', StoredSecret.parse(encoding), true)).toBe('match');
    expect(await new BcryptSecretVerifier(COSTS).verify('b-secret', StoredSecret.parse(encoding), true)).toBe(
      'mismatch',
    );
  });

  it('adds the cost of a stored secret to every refusal, and reports it once', async () => {
    const found: number[] = [];
    const verifier = new BcryptSecretVerifier({
      cost: 5,
      costMax: 6,
      onCostFound: (cost) => found.push(cost),
    });
    expect(verifier.costs).toEqual([5]);
    for (const cost of [6, 4, 6]) {
      const stored = StoredSecret.parse(await bcrypt.hash('a-secret', cost));
      expect(await verifier.verify('a-secret', stored, true)).toBe('match');
    }
    expect(verifier.costs).toEqual([4, 5, 6]);
    expect(found).toEqual([6, 4]);
    expect(verifier.cost).toBeCloseTo(Math.log2(2 ** 4 + 2 ** 5 + 2 ** 6));
  });

  it('has the costs of all stored secrets once they are known, with those that were found before, and no longer its own', async () => {
    const found: number[] = [];
    const verifier = new BcryptSecretVerifier({
      cost: 5,
      costMax: 8,
      onCostFound: (cost) => found.push(cost),
    });
    await verifier.verify('a-secret', StoredSecret.parse(await bcrypt.hash('a-secret', 6)), true);
    expect(verifier.costs).toEqual([5, 6]);
    verifier.useCosts([4]);
    expect(verifier.costs).toEqual([4, 6]);
    expect(found).toEqual([6]);
  });

  it('never computes a cost above its limit: such a secret matches nothing, and does not change the cost of refusals', async () => {
    const verifier = new BcryptSecretVerifier({ cost: 4, costMax: 5 });
    const stored = StoredSecret.parse(await bcrypt.hash('a-secret', 6));
    expect(await verifier.verify('a-secret', stored, true)).toBe('unusable_stored');
    verifier.useCosts([6, 3, 0]);
    expect(verifier.costs).toEqual([4]);
  });

  it('runs the same checks for every refusal', async () => {
    const compared: string[] = [];
    const compare = jest.spyOn(bcrypt, 'compare').mockImplementation(async (_presented, encoding) => {
      compared.push(encoding.slice(0, 7));
      return false;
    });
    try {
      const verifier = new BcryptSecretVerifier({ cost: 6, costMax: 8 });
      verifier.useCosts([8, 4, 6, 4]);
      const wrong = StoredSecret.parse(`$2y$06$${'a'.repeat(53)}`);
      const locked = StoredSecret.parse(`!$2b$06$${'a'.repeat(53)}`);
      for (const [presented, stored] of [
        ['a-guess', wrong],
        ['a-guess', NOTHING],
        ['a-guess', locked],
        ['x'.repeat(73), wrong],
        ['a\0', NOTHING],
      ] as const) {
        compared.length = 0;
        await verifier.verify(presented, stored, true);
        expect(compared).toEqual(['$2b$04$', '$2b$06$', '$2b$08$']);
      }
    } finally {
      compare.mockRestore();
    }
  });

  it('has its own hash for each cost, which differs in each process', async () => {
    const compared = new Set<string>();
    const compare = jest.spyOn(bcrypt, 'compare').mockImplementation(async (_presented, encoding) => {
      compared.add(encoding);
      return true;
    });
    try {
      for (let process = 0; process < 3; process += 1) {
        const verifier = new BcryptSecretVerifier({ cost: 4, costMax: 10 });
        verifier.useCosts([4, 10]);
        // Even if a secret matched such a hash, it would match no client.
        expect(await verifier.verify('a-guess', NOTHING, false)).toBe('mismatch');
      }
    } finally {
      compare.mockRestore();
    }
    expect(compared.size).toBe(6);
    for (const encoding of compared) expect(encoding).toMatch(/^\$2b\$(04|10)\$[0-9a-f]{16}0{6}[0-9a-f]{31}$/);
  });
});
