import { expect, it } from '@jest/globals';
import { parseWrkOutput } from './wrk-output.ts';

const HEAD = `Running 1s test @ http://127.0.0.1:39871/oauth2/token
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.84ms    4.05ms  58.83ms   89.78%
    Req/Sec     2.34k   258.94     2.94k    80.00%
  2326 requests in 1.00s, 2.41MB read
`;

it('reads what wrk wrote at its end', () => {
  const line = '{"requests":2326,"duration":1000315,"status":0,"socket":0,"timeout":0,"p50":6705,"p99":21197}';
  expect(parseWrkOutput(`${HEAD}Requests/sec:   2325.27\nTransfer/sec:      2.41MB\n${line}\n`)).toEqual({
    tokens: 2326,
    tokensPerSecond: expect.closeTo(2325.27, 1),
    failures: 0,
    p50Ms: 6.705,
    p99Ms: 21.197,
  });
});

it('counts what is no token apart, whatever became of it', () => {
  const line = '{"requests":1000,"duration":2000000,"status":400,"socket":3,"timeout":2,"p50":1,"p99":2}';
  expect(parseWrkOutput(`${HEAD}  Non-2xx or 3xx responses: 400\n${line}\n`)).toMatchObject({
    tokens: 600,
    tokensPerSecond: 300,
    failures: 405,
  });
});

it('says what wrk wrote where it is no result', () => {
  expect(() => parseWrkOutput('unable to connect to 127.0.0.1:39871 Connection refused\n')).toThrow(
    'unable to connect to 127.0.0.1:39871',
  );
});
