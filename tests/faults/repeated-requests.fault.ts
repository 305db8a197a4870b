import { describe, expect, it } from '@jest/globals';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** More than a process works on at once (1,000), and more than Node.js reads from in one step (1,024). */
const CONNECTIONS = 2_048;

/**
 * In one pass of the event loop there are at most 64 refusals. As long as refusals were not paced, there were 3 to 7
 * tokens for 100.
 */
const TOKENS_FOR_EACH_REFUSAL = 0.15;

/** A service, and a flood of it: the token request, or GET with a path. */
async function startFlood(path?: string) {
  const service = await startServiceProcess({ PUBLIC_METADATA: 'true' });
  const args = [new URL(service.url).port, String(CONNECTIONS), ...(path === undefined ? [] : [path])];
  const flood = runProgram('tests/faults/repeat-requests.ts', {}, args);
  return {
    url: service.url,
    /** How often each status was answered so far. */
    answers(): Readonly<Record<string, number>> {
      const lines = flood.stdout().split('\n');
      return JSON.parse(lines.at(-2) ?? '{}') as Record<string, number>;
    },
    async [Symbol.asyncDispose]() {
      await flood[Symbol.asyncDispose]();
      await service.program[Symbol.asyncDispose]();
    },
  };
}

describe('while 2,048 connections send the next request as soon as they have a response', () => {
  it('tokens are issued, and one to a client that does not repeat its request', async () => {
    await using flood = await startFlood();
    const refused = () => flood.answers()[503] ?? 0;
    // From its fourth request on, a connection counts as one that repeats its requests. There are about 20 tokens for
    // each refusal, so a large number of refusals would take a minute.
    await until(
      () => (flood.answers()[200] ?? 0) + refused() > 8 * CONNECTIONS,
      'the connections repeat their requests',
    );
    const { 200: tokens = 0, 503: refusals = 0 } = flood.answers();
    await until(() => refused() > refusals + 500, 'requests are refused');
    const { 200: tokensNow = 0, 503: refusalsNow = 0, ...others } = flood.answers();
    expect((tokensNow - tokens) / (refusalsNow - refusals)).toBeGreaterThan(TOKENS_FOR_EACH_REFUSAL);
    expect(others).toEqual({});
    // A tenth of the places is reserved for connections with few requests.
    await until(
      async () => (await requestToken(flood.url, DEMO_TOKEN_REQUEST)).status === 200,
      'the client has a token',
    );
  });

  it.each([
    ['401', 'is refused', '/oauth2/nowhere'],
    ['200', 'needs no token', '/oauth2/jwks'],
  ])('each other client gets a token (%s, a request that %s)', async (status, _what, path) => {
    await using flood = await startFlood(path);
    const answered = () => flood.answers()[status] ?? 0;
    await until(() => answered() > 2_048, 'the flood is answered');
    for (let token = 0; token < 20; token += 1) {
      // Before responses were paced, the request was not even read in time.
      expect((await requestToken(flood.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
    }
  });
});
