import { describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { TOKENS } from '../../../config/tokens.ts';
import { requestToken } from '../../support/http.ts';
import { GOOD_CLIENT, PLAIN_CLIENT } from '../../support/running-service.ts';
import { serviceForSuite } from './service-for-suite.ts';

const SAMPLES = 200;
// Refusals cost 2^8 rounds, about 16 ms: far more than the noise of a request on a busy machine.
const COST = 8;

/**
 * The probability that a random sample of one group is greater than one of the other (Mann-Whitney U divided by the
 * number of pairs): 0.5 where time tells nothing, 0 or 1 where it tells all. Its standard error for two groups of 200
 * is 0.029, so 0.5 ± 0.15 is five of them.
 */
function separation(one: readonly number[], other: readonly number[]): number {
  let greater = 0;
  for (const a of one) for (const b of other) greater += a > b ? 1 : a === b ? 0.5 : 0;
  return greater / (one.length * other.length);
}

const CASES = {
  'wrong secret': { client_id: 'dear' },
  'wrong secret of a cheaper hash': { client_id: 'good-client' },
  'wrong secret of a {noop} client': { client_id: 'plain-client' },
  'unknown client': { client_id: 'nobody' },
  'unusable stored secret': { client_id: 'locked' },
  'registration that breaks an invariant': { client_id: 'no-scope' },
  'secret of 73 bytes': { client_id: 'dear', client_secret: 'x'.repeat(73) },
  'secret with a NUL': { client_id: 'dear', client_secret: 'a\0b' },
};

describe('time tells the cases of invalid_client apart from nothing', () => {
  const service = serviceForSuite({
    environment: { CLIENT_SECRET_COST: String(COST), CLIENT_FAILURES_PER_MINUTE: '0' },
    clients: [
      GOOD_CLIENT,
      PLAIN_CLIENT,
      { ...GOOD_CLIENT, client_id: 'dear', client_secret: bcrypt.hashSync('its-secret', COST) },
    ],
    override: (container) => {
      const clients = container.resolve(TOKENS.clientRepository);
      if (!(clients instanceof InMemoryClientRepository)) throw new Error('not the in-memory variant');
      const encoded = GOOD_CLIENT.client_secret;
      clients.add({ clientId: 'locked', clientSecret: `!${encoded}`, clientName: 'x', scope: 'read' });
      clients.add({ clientId: 'no-scope', clientSecret: encoded, clientName: 'x', scope: '' });
    },
  });

  async function measure(differences: Record<string, string>): Promise<number> {
    const form = { grant_type: 'client_credentials', client_secret: 'wrong-secret', ...differences };
    const begin = performance.now();
    const answer = await requestToken(service().url, form);
    const milliseconds = performance.now() - begin;
    expect(answer.status).toBe(401);
    return milliseconds;
  }

  it(`each case, interleaved ${SAMPLES} times with all others, ranks like a wrong secret`, async () => {
    const names = Object.keys(CASES) as (keyof typeof CASES)[];
    const times = new Map<string, number[]>(names.map((name) => [name, []]));
    for (let round = 0; round < SAMPLES; round += 1) {
      // Another order each round, so that no case always comes behind the same one.
      for (let place = 0; place < names.length; place += 1) {
        const name = names[(place * 3 + round) % names.length];
        if (name !== undefined) times.get(name)?.push(await measure(CASES[name]));
      }
    }
    const reference = times.get('wrong secret') ?? [];
    for (const name of names) {
      const value = separation(times.get(name) ?? [], reference);
      expect({ name, told: value < 0.35 || value > 0.65, value }).toMatchObject({ name, told: false });
    }
  }, 120_000);

  it('would show a case that skips its check: a request without credentials separates at once', async () => {
    const skipped: number[] = [];
    const checked: number[] = [];
    for (let round = 0; round < 50; round += 1) {
      skipped.push(await measure({ client_secret: '' }));
      checked.push(await measure({ client_id: 'nobody' }));
    }
    expect(separation(checked, skipped)).toBeGreaterThan(0.95);
  });
});
