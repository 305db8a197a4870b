import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ASSERTION_QUEUE_LIMITS, VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { PARTS } from '../../../config/parts.ts';
import { slotRequest } from '../../contracts/verification-slots.ts';
import { compactJws, generateSigningKey } from '../../support/assertions.ts';
import { forgedRequestBody, JWT_BEARER } from '../../support/forged-assertion.ts';
import { requestToken } from '../../support/http.ts';
import { readSamples, total } from '../../support/read-samples.ts';
import { GOOD_CLIENT, GOOD_SECRET, ISSUER } from '../../support/running-service.ts';
import { WorkloadKey } from '../../support/workload-issuer.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

const KEY = generateSigningKey('ES256');
const PLATFORM = 'https://platform.test';
const PLATFORM_KEY = new WorkloadKey('platform', 'ES384');

/** Room for one assertion of the most expensive kind. */
const LIMITS = { ...ASSERTION_QUEUE_LIMITS, fifoRounds: 2 ** 5, unanswered: 2, waitMs: 300 };
const FLOOD = 20;

const now = () => Math.floor(Date.now() / 1_000);

describe('POST /oauth2/token: no capacity to verify assertions', () => {
  const queue = new VerificationQueue(LIMITS, 'assertion verification');
  const service = serviceForSuite({
    environment: {
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt,federated_jwt',
      CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
    },
    clients: [
      GOOD_CLIENT,
      { client_id: 'signing', client_name: 'A client', scope: 'read', jwks: { keys: [KEY.jwk] } },
      {
        client_id: 'workload',
        client_name: 'A workload',
        scope: 'read',
        federated_subjects: [{ issuer: PLATFORM, subject: 'workload', claims: {} }],
      },
    ],
    files: {
      'issuers.json': JSON.stringify([
        { issuer: PLATFORM, jwks: { keys: [PLATFORM_KEY.jwk({ alg: 'ES384' })] }, preset: 'none' },
      ]),
    },
    override: (container) => container.registerInstance(PARTS.assertionQueue, queue),
  });

  const withAssertion = (client_assertion: string) =>
    requestToken(service().url, {
      grant_type: 'client_credentials',
      client_assertion_type: JWT_BEARER,
      client_assertion,
    });
  const bound = async (name: string) => {
    const { text } = await service().container.resolve(PARTS.processMetrics).exposition();
    return total(readSamples(text), name);
  };

  it.each([
    [
      'private_key_jwt',
      { iss: 'nobody', sub: 'nobody', aud: ISSUER },
      () =>
        compactJws(
          { alg: 'ES256' },
          { iss: 'signing', sub: 'signing', aud: ISSUER, exp: now() + 60, jti: randomUUID() },
          KEY.seal,
        ),
    ],
    [
      'federated_jwt',
      { iss: PLATFORM, sub: 'nobody', aud: ISSUER },
      () =>
        PLATFORM_KEY.mint({
          claims: { iss: PLATFORM, sub: 'workload', aud: ISSUER, iat: now(), exp: now() + 60 },
        }),
    ],
  ])(
    '%s: answers a part of a flood with 503, and continues to serve cached secrets, and its clients behind it',
    async (_method, forged, sign) => {
      const good = () =>
        requestToken(service().url, {
          grant_type: 'client_credentials',
          client_id: GOOD_CLIENT.client_id,
          client_secret: GOOD_SECRET,
        });
      expect((await good()).status).toBe(200);
      // Another client has the only slot until the flood has arrived, however fast this machine verifies.
      const verification = await queue.acquire(slotRequest({ cost: 5 }));
      const flood = Array.from({ length: FLOOD }, () => requestToken(service().url, forgedRequestBody(forged)));
      const cached = await good();
      await Promise.any(flood.map(async (answer) => expect((await answer).status).toBe(503)));
      verification.release();
      const answers = await Promise.all(flood);
      expect(cached.status).toBe(200);
      const refused = answers.filter(({ status }) => status === 503);
      expect(answers.filter(({ status }) => status === 401).length + refused.length).toBe(FLOOD);
      for (const answer of refused) {
        expect(answer.text).toBe('{"error":"temporarily_unavailable"}');
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
        expect(logLineOf(service(), answer)).toMatchObject({ reason: 'slots_exhausted' });
      }
      expect((await withAssertion(sign())).status).toBe(200);
      expect(await bound('auth_assertion_verifications_unanswered')).toBe(0);
      expect(await bound('auth_assertion_verifications_unanswered_max')).toBe(LIMITS.unanswered);
      expect(await bound('auth_assertion_verifications_overflow_max')).toBe(LIMITS.unanswered);
      expect(await bound('auth_assertion_verification_shares_max')).toBe(20_000);
    },
  );
});
