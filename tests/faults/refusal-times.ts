import { expect } from '@jest/globals';
import bcrypt from 'bcrypt';
import { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import type { SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { PARTS } from '../../config/container.ts';
import { serviceForSuite } from '../adapters/http/service-for-suite.ts';
import { requestToken } from '../support/http.ts';
import { rankZ } from '../support/rank-test.ts';
import { GOOD_CLIENT, PLAIN_CLIENT, type ServiceUnderTest } from '../support/running-service.ts';

/** Refusals cost 2^6 rounds and more, about 4 ms: more than the noise of a request. */
export const COST = 6;
/** Two cases count as distinguishable if their ranks differ by more than this number of standard errors. */
export const Z_MAX = 3;

const CASES = {
  'wrong secret': { client_id: 'expensive' },
  'wrong secret of a cheaper hash': { client_id: 'good-client' },
  'wrong secret of a {noop} client': { client_id: 'plain-client' },
  'unknown client': { client_id: 'nobody' },
  'unusable stored secret': { client_id: 'locked' },
  'registration that breaks an invariant': { client_id: 'no-scope' },
  'secret of 73 bytes': { client_id: 'expensive', client_secret: 'x'.repeat(73) },
  'wrong secret with the id of a secret': { client_id: 'two-hashes', client_secret: 'an-id.wrong-secret' },
  'wrong secret with the id of none': { client_id: 'two-hashes', client_secret: 'no-id.wrong-secret' },
  'unknown client, secret with an id': { client_id: 'nobody', client_secret: 'an-id.wrong-secret' },
  'secret with a NUL': { client_id: 'expensive', client_secret: 'a\0b' },
};
type Case = keyof typeof CASES;

/** @param verifier in place of the service's own. */
export function timedService(verifier?: SecretVerifier) {
  return serviceForSuite({
    environment: { CLIENT_SECRET_COST: String(COST), CLIENT_FAILURES_PER_MINUTE: '0' },
    clients: [
      GOOD_CLIENT,
      PLAIN_CLIENT,
      { ...GOOD_CLIENT, client_id: 'expensive', client_secret: bcrypt.hashSync('its-secret', COST) },
      {
        ...GOOD_CLIENT,
        client_id: 'two-hashes',
        secrets: [{ secret_id: 'an-id', name: 'a', client_secret: bcrypt.hashSync('an-id.its-secret', COST) }],
      },
    ],
    wrapClients: (clients) => {
      if (!(clients instanceof InMemoryClientRepository)) throw new Error('not the in-memory variant');
      const encoded = GOOD_CLIENT.client_secret;
      clients.add({ clientId: 'locked', clientSecret: `!${encoded}`, clientName: 'x', scope: 'read' });
      clients.add({ clientId: 'no-scope', clientSecret: encoded, clientName: 'x', scope: '' });
      return clients;
    },
    override: (core) => verifier && core.registerInstance(PARTS.secretVerifier, verifier),
  });
}

/** Milliseconds until a refusal is answered. */
async function measure(service: ServiceUnderTest, differences: Record<string, string>): Promise<number> {
  const form = { grant_type: 'client_credentials', client_secret: 'wrong-secret', ...differences };
  const begin = performance.now();
  const response = await requestToken(service.url, form);
  const milliseconds = performance.now() - begin;
  expect(response.status).toBe(401);
  return milliseconds;
}

/**
 * The rank of each case against a wrong secret, in standard errors: all cases interleaved, in another order each round.
 */
export async function ranksOf(
  service: ServiceUnderTest,
  samples: number,
  names = Object.keys(CASES) as readonly Case[],
): Promise<ReadonlyMap<Case, number>> {
  const times = new Map<Case, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < samples; round += 1) {
    for (let place = 0; place < names.length; place += 1) {
      const name = names[(place * 3 + round) % names.length];
      if (name !== undefined) times.get(name)?.push(await measure(service, CASES[name]));
    }
  }
  const reference = times.get('wrong secret') ?? [];
  return new Map(names.map((name) => [name, rankZ(times.get(name) ?? [], reference)]));
}

/**
 * The cases that differ in time from a wrong secret: those that are beyond the limit on the same side in two runs. A
 * single run would be beyond it by chance once in fifty times; a difference that an attacker can use repeats.
 */
export async function casesToldApart(service: ServiceUnderTest, samples: number): Promise<readonly Case[]> {
  const suspects = beyondLimit(await ranksOf(service, samples));
  if (suspects.size === 0) return [];
  const again = beyondLimit(await ranksOf(service, samples, ['wrong secret', ...suspects.keys()]));
  return [...suspects].filter(([name, z]) => Math.sign(again.get(name) ?? 0) === Math.sign(z)).map(([name]) => name);
}

function beyondLimit(ranks: ReadonlyMap<Case, number>): ReadonlyMap<Case, number> {
  return new Map([...ranks].filter(([, z]) => Math.abs(z) > Z_MAX));
}
