import { expect, it } from '@jest/globals';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceWithWorkers } from '../support/service-with-workers.ts';
import { until } from '../support/until.ts';

/** More than a process works on at once (1,000), and more than Node.js reads from in one step (1,024). */
const CONNECTIONS = 2_048;

/** In one pass of the event loop there are 16 signatures for 64 refusals. As long as refusals were not paced, 7 for 100. */
const TOKENS_FOR_EACH_REFUSAL = 0.2;

it('issues tokens while 2,048 connections send the next request as soon as they have an answer, refused or not', async () => {
  const service = await startServiceWithWorkers({ WORKERS: '1' });
  await using _service = service.program;
  const flood = runProgram('tests/support/repeat-requests.ts', {}, [new URL(service.url).port, String(CONNECTIONS)]);
  await using _flood = flood;
  const answers = (): Readonly<Record<string, number>> => {
    const lines = flood.stdout().split('\n');
    return JSON.parse(lines.at(-2) ?? '{}') as Record<string, number>;
  };
  const refused = () => answers()[503] ?? 0;
  await until(() => refused() > 1_000, 'requests are refused');
  const { 200: tokens = 0, 503: refusals = 0 } = answers();
  await until(() => refused() > refusals + 4_000, 'the flood goes on');
  const { 200: tokensNow = 0, 503: refusalsNow = 0, ...others } = answers();
  expect((tokensNow - tokens) / (refusalsNow - refusals)).toBeGreaterThan(TOKENS_FOR_EACH_REFUSAL);
  expect(others).toEqual({});
  // A tenth of the places is reserved for connections that did not just send a request.
  expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
});
