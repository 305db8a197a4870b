import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { requestToken } from '../../support/http.ts';
import { serviceForSuite } from './service-for-suite.ts';

const REQUESTS = 400;
const BODY_BYTES = 15_000;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

describe('what the service keeps of a request', () => {
  const service = serviceForSuite({ environment: { CLIENT_SECRET_COST: '4' } });
  const ask = (number: number) =>
    requestToken(service().url, {
      grant_type: 'client_credentials',
      client_id: `an-unknown-client-${number}`,
      client_secret: 'a-wrong-secret',
      more: 'x'.repeat(BODY_BYTES),
    });
  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };

  it('is far less than its body, when it counts a failed attempt', async () => {
    for (let number = 0; number < 20; number += 1) await ask(number);
    const before = heapBytes();
    for (let number = 0; number < REQUESTS; number += 1) expect((await ask(1_000 + number)).status).toBe(401);
    expect(heapBytes() - before).toBeLessThan((REQUESTS * BODY_BYTES) / 2);
  });
});
