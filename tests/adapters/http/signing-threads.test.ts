import { expect, it } from '@jest/globals';
import { SigningThreads } from '../../../adapters/jwt/signing-threads.ts';
import { PARTS } from '../../../config/parts.ts';
import { requestToken } from '../../support/http.ts';
import { PLAIN_CLIENT } from '../../support/running-service.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

const FORM = { grant_type: 'client_credentials', client_id: PLAIN_CLIENT.client_id, client_secret: 'plain-secret' };

const breaks = () => {
  throw new Error('it has ended');
};

const service = serviceForSuite({
  override: (container) => container.registerInstance(PARTS.signingThreads, new SigningThreads(1, breaks)),
});

it('answers 503 with Retry-After if the thread that signs the token ends, and says so in the log', async () => {
  const answer = await requestToken(service().url, FORM);
  expect(answer.status).toBe(503);
  expect(answer.json()).toEqual({ error: 'temporarily_unavailable' });
  expect(answer.headers['retry-after']).toMatch(/^\d+$/);
  expect(logLineOf(service(), answer)).toMatchObject({
    reason: 'dependency_unavailable',
    fault: { message: 'signing threads unavailable', cause: { message: 'a thread has ended' } },
  });
});
