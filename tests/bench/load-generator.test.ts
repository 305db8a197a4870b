import { describe, expect, it } from '@jest/globals';
import { parseAutocannonOutput, parseWrkOutput } from './load-generator.ts';

const HEAD = `Running 1s test @ http://127.0.0.1:39871/oauth2/token
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.84ms    4.05ms  58.83ms   89.78%
    Req/Sec     2.34k   258.94     2.94k    80.00%
  2326 requests in 1.00s, 2.41MB read
`;

describe('the output of wrk', () => {
  it('is read from its last line', () => {
    const line = '{"requests":2326,"duration":1000315,"status":0,"socket":0,"timeout":0,"p50":6705,"p99":21197}';
    expect(parseWrkOutput(`${HEAD}Requests/sec:   2325.27\nTransfer/sec:      2.41MB\n${line}\n`)).toEqual({
      tokens: 2326,
      tokensPerSecond: expect.closeTo(2325.27, 1),
      failures: 0,
      p50Ms: 6.705,
      p99Ms: 21.197,
    });
  });

  it('counts error statuses, broken connections and timeouts as failures and not as tokens', () => {
    const line = '{"requests":1000,"duration":2000000,"status":400,"socket":3,"timeout":2,"p50":1,"p99":2}';
    expect(parseWrkOutput(`${HEAD}  Non-2xx or 3xx responses: 400\n${line}\n`)).toMatchObject({
      tokens: 600,
      tokensPerSecond: 300,
      failures: 405,
    });
  });

  it('without a result is an error that repeats it', () => {
    expect(() => parseWrkOutput('unable to connect to 127.0.0.1:39871 Connection refused\n')).toThrow(
      'unable to connect to 127.0.0.1:39871',
    );
  });
});

describe('the result of autocannon', () => {
  it('is read as JSON', () => {
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
});
