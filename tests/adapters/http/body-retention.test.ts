import type { IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { clientAddressBehind } from '../../../adapters/http/parsing/client-address.ts';
import { requestToken } from '../../support/http.ts';
import { serviceForSuite } from './service-for-suite.ts';

const REQUESTS = 400;
const BODY_BYTES = 15_000;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const heapBytes = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** Sends requests with large bodies, and expects that far less of each is kept. */
async function expectLittleKept(ask: (number: number) => Promise<{ readonly status: number }>, status: number) {
  for (let number = 0; number < 20; number += 1) await ask(number);
  const before = heapBytes();
  for (let number = 20; number < 20 + REQUESTS; number += 1) expect((await ask(number)).status).toBe(status);
  expect(heapBytes() - before).toBeLessThan((REQUESTS * BODY_BYTES) / 2);
}

const PAD = 'x'.repeat(BODY_BYTES);

describe('what the service keeps of a request', () => {
  const service = serviceForSuite({ environment: { CLIENT_SECRET_COST: '4' } });

  it('is far less than its body, when it counts a failed attempt', () =>
    expectLittleKept((number) => {
      const [client_id, client_secret] = [`an-unknown-client-${number}`, 'a-wrong-secret'];
      return requestToken(service().url, { grant_type: 'client_credentials', client_id, client_secret, more: PAD });
    }, 401));
});

describe('what the service keeps of a request behind a proxy', () => {
  it('is far less than its header fields, when it knows the address from one of them', () => {
    const addresses: string[] = [];
    const addressOf = clientAddressBehind([{ address: '127.0.0.1', prefixBits: 8 }]);
    const requestFrom = (number: number) => {
      const line = `${PAD.slice(0, 7_000)}${number}, 203.0.113.${100 + (number % 100)}`;
      return { socket: { remoteAddress: '127.0.0.1' }, rawHeaders: ['X-Forwarded-For', line] } as IncomingMessage;
    };
    const before = heapBytes();
    for (let number = 0; number < REQUESTS; number += 1) addresses.push(addressOf(requestFrom(number)));
    expect(addresses[7]).toBe('203.0.113.107');
    expect(heapBytes() - before).toBeLessThan((REQUESTS * 7_000) / 2);
  });
});

describe('what the service keeps of a request with TOKEN_REUSE_SECONDS', () => {
  const scope = 'a-scope-that-is-not-copied-by-chance';
  const service = serviceForSuite({
    environment: { TOKEN_REUSE_SECONDS: '60', TOKEN_SCOPE_CLAIM: 'true' },
    clients: Array.from({ length: 20 + REQUESTS }, (_, number) => ({
      client_id: `client-${number}`,
      client_secret: '{noop}a-secret',
      client_name: 'A client',
      scope,
    })),
  });

  it('is far less than its body, when it keeps the token', () =>
    expectLittleKept((number) => {
      const [client_id, client_secret] = [`client-${number}`, 'a-secret'];
      return requestToken(service().url, {
        grant_type: 'client_credentials',
        client_id,
        client_secret,
        scope,
        more: PAD,
      });
    }, 200));
});
