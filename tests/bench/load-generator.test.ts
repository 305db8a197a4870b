import { describe, expect, it } from '@jest/globals';
import { parseWrkOutput } from './load-generator.ts';

const HEAD = 'Running 1s test @ http://127.0.0.1:39871/oauth2/token\n  2326 requests in 1.00s, 2.41MB read\n';

describe('the output of wrk', () => {
  it('is read from its last line', () => {
    const line = '{"requests":2326,"duration":1000315,"status":0,"socket":0,"timeout":0,"p50":6705,"p99":21197}';
    const tokensPerSecond = expect.closeTo(2325.27, 1);
    const expected = { tokens: 2326, tokensPerSecond, failures: 0, p50Ms: 6.705, p99Ms: 21.197 };
    expect(parseWrkOutput(`${HEAD}Transfer/sec:      2.41MB\n${line}\n`)).toEqual(expected);
  });

  it('counts error statuses, broken connections and timeouts as failures and not as tokens', () => {
    const line = '{"requests":1000,"duration":2000000,"status":400,"socket":3,"timeout":2,"p50":1,"p99":2}';
    expect(parseWrkOutput(`${HEAD}${line}\n`)).toMatchObject({ tokens: 600, tokensPerSecond: 300, failures: 405 });
  });

  it('without a result is an error that repeats it', () => {
    expect(() => parseWrkOutput('unable to connect to 127.0.0.1:39871 Connection refused\n')).toThrow(
      'unable to connect to 127.0.0.1:39871',
    );
  });
});
