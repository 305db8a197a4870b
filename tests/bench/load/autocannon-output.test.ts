import { expect, it } from '@jest/globals';
import { parseAutocannonOutput } from './autocannon-output.ts';

it('reads the result of autocannon', () => {
  const result = {
    url: 'http://127.0.0.1:39871/oauth2/token',
    connections: 16,
    duration: 1.01,
    errors: 3,
    timeouts: 1,
    mismatches: 0,
    non2xx: 40,
    resets: 0,
    '2xx': 2020,
    '4xx': 0,
    '5xx': 40,
    statusCodeStats: { '200': { count: 2020 }, '503': { count: 40 } },
    latency: { average: 6.8, min: 1, max: 58, p50: 6, p90: 11, p97_5: 15, p99: 21, p99_9: 58, totalCount: 2060 },
    requests: { average: 2060, total: 2060, p50: 2060, p99: 2060, sent: 2076 },
  };
  expect(parseAutocannonOutput(JSON.stringify(result))).toEqual({
    tokens: 2020,
    tokensPerSecond: 2000,
    failures: 43,
    p50Ms: 6,
    p99Ms: 21,
  });
});
