import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';
import { until } from '../../support/until.ts';
import { WorkloadKey } from '../../support/workload-issuer.ts';
import { methodSettings, OPTIONAL_METHODS, originOf } from '../assertion-clients.ts';
import { ConnectionFlood } from './connection-flood.ts';
import { type FloodName, floodOf, type MixedFloodName } from './floods.ts';
import { measureHiddenGuess, measureLockOut } from './strong.ts';

describe('the floods, with two connections each', () => {
  let service: ServiceUnderTest;
  beforeAll(async () => {
    const issuer = originOf('federated_jwt', 'any').iss;
    const entry = { issuer, jwks: { keys: [new WorkloadKey('platform', 'ES384').jwk()] }, preset: 'none' };
    service = await startServiceUnderTest({
      environment: {
        ...methodSettings(['client_secret_post', ...OPTIONAL_METHODS]),
        CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
      },
      files: { 'issuers.json': JSON.stringify([entry]) },
    });
  });
  afterAll(() => service.stop());

  it.each<[FloodName | MixedFloodName, string, string]>([
    ['guesses for known clients', '401', 'client_unknown'],
    ['unknown clients', '401', 'client_unknown'],
    ['guesses at cost 14', '401', 'client_unknown'],
    ['idle connections, 2,000', '401', 'token_missing'],
    ['guesses, 500 x 15', '401', 'client_unknown'],
    ['large guesses, 2,000 x 15', '401', 'client_unknown'],
    ['large headers, 600 x 16', '401', 'token_missing'],
    ['many header fields, 2,000 x 16', '401', 'token_missing'],
    ['too many header fields, 3,000', '431', 'header_fields_too_large'],
    ['unfinished requests, 3,000', '408', 'request_timeout'],
    ['unfinished requests of many fields, 3,000', '408', 'request_timeout'],
    ['100,000 client ids, 500 x 4', '401', 'client_unknown'],
    ['abandoned guesses, 2,000', 'closed', 'client_disconnected'],
    ['guesses by header, 2,000 x 15', '401', 'client_unknown'],
    ['forged assertions, 100', '401', 'client_unknown'],
    ['forged identities, 100', '401', 'assertion_signature_wrong'],
    ['wide assertions, 2,000 x 15', '401', 'client_unknown'],
    ['wide identities, 2,000 x 15', '401', 'assertion_signature_wrong'],
  ])('%s get %s', async (name, answer, reason) => {
    const flood = new ConnectionFlood(service.port, 2, floodOf(name));
    await until(() => (flood.answers[answer] ?? 0) > 0, 'an answer has arrived');
    expect(Object.keys(flood.answers)).not.toContain('400');
    await until(() => service.logText().includes(`"reason":"${reason}"`), reason);
    flood.end();
  });

  it('of garbage get 400', async () => {
    const flood = new ConnectionFlood(service.port, 2, floodOf('garbage'));
    await until(() => (flood.answers['400'] ?? 0) > 11, 'each request is answered');
    expect(Object.keys(flood.answers)).toEqual(['400']);
    flood.end();
  });

  it('and the two attacks on one client id end with an answer to its owner', async () => {
    expect(await measureLockOut(service.port, GOOD_CLIENT.client_id, GOOD_SECRET, 3)).toBeLessThan(20_000);
    expect(await measureHiddenGuess(service.port, GOOD_CLIENT.client_id, GOOD_SECRET, 15)).toBeLessThan(20_000);
  });
});
