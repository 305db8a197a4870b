import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';
import { until } from '../../support/until.ts';
import { WorkloadKey } from '../../support/workload-issuer.ts';
import { requestFor } from './attack-requests.ts';
import { ATTACKED_METHODS, AUDIENCE, PLATFORM } from './attacked-methods.ts';
import { ConnectionFlood } from './connection-flood.ts';
import { FLOODS, type FloodName } from './floods.ts';
import { measureHiddenGuess, measureLockOut } from './lock-out.ts';

describe('the floods, with two connections each', () => {
  let service: ServiceUnderTest;
  beforeAll(async () => {
    const entry = { issuer: PLATFORM, jwks: { keys: [new WorkloadKey('platform', 'ES384').jwk()] }, preset: 'none' };
    service = await startServiceUnderTest({
      environment: {
        CLIENT_AUTHENTICATION_METHODS: ['client_secret_post', ...ATTACKED_METHODS].join(','),
        CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
        TOKEN_ISSUER: AUDIENCE,
      },
      files: { 'issuers.json': JSON.stringify([entry]) },
    });
  });
  afterAll(() => service.stop());

  it.each<[FloodName, string, string]>([
    ['idle connections, 2,000', '401', 'token_missing'],
    ['guesses, 500 x 15', '401', 'client_unknown'],
    ['large guesses, 2,000 x 15', '401', 'client_unknown'],
    ['large headers, 600 x 16', '401', 'token_missing'],
    ['many header fields, 2,000 x 16', '401', 'token_missing'],
    ['100,000 client ids, 500 x 4', '401', 'client_unknown'],
    ['abandoned guesses, 2,000', 'closed', 'client_disconnected'],
    ['guesses by header, 2,000 x 15', '401', 'client_unknown'],
    ['forged assertions, 100', '401', 'client_unknown'],
    ['forged identities, 100', '401', 'assertion_signature_wrong'],
    ['wide assertions, 2,000 x 15', '401', 'client_unknown'],
    ['wide identities, 2,000 x 15', '401', 'assertion_signature_wrong'],
  ])('%s get %s', async (name, answer, reason) => {
    const flood = new ConnectionFlood(service.port, 2, FLOODS[name].begin);
    await until(() => (flood.answers[answer] ?? 0) > 0, 'an answer has arrived');
    expect(Object.keys(flood.answers)).not.toContain('400');
    await until(() => service.logText().includes(`"reason":"${reason}"`), reason);
    flood.end();
  });

  it('and the two attacks on one client id end with an answer to its owner', async () => {
    const clientId = GOOD_CLIENT.client_id;
    const job = { port: service.port, clientId, ownRequest: requestFor(clientId, GOOD_SECRET) };
    expect(await measureLockOut(job, 3)).not.toBeNull();
    expect(await measureHiddenGuess(job, 15)).toEqual({ status: 200, milliseconds: expect.any(Number) });
  });
});
