import { describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { PARTS } from '../../config/parts.ts';
import { requestToken } from '../support/http.ts';
import { GOOD_SECRET, startServiceUnderTest } from '../support/running-service.ts';

const FORM = { grant_type: 'client_credentials', client_id: 'good-client', client_secret: GOOD_SECRET };

describe('TOKEN_REUSE_SECONDS', () => {
  it('issues a token again to a client that authenticates again, which the audit log says', async () => {
    const lines: string[] = [];
    const service = await startServiceUnderTest({
      environment: { TOKEN_REUSE_SECONDS: '60' },
      override: (container) => {
        const write = async (line: string) => void lines.push(line);
        const measured = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: 1 };
        container.registerInstance(PARTS.auditOutput, {
          lines: { write, keep: write },
          measured,
          checks: [],
          close: async () => {},
        });
      },
    });
    const [first, again, other, wrong] = [
      await requestToken(service.url, FORM),
      await requestToken(service.url, FORM),
      await requestToken(service.url, { ...FORM, scope: 'read' }),
      await requestToken(service.url, { ...FORM, client_secret: 'wrong' }),
    ];
    await service.stop();
    expect(again.json()['access_token']).toBe(first.json()['access_token']);
    expect(other.json()['access_token']).not.toBe(first.json()['access_token']);
    expect(wrong.status).toBe(401);
    const issued = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'token_issued');
    expect(issued.map(({ reused }) => reused)).toEqual([undefined, true, undefined]);
    const { exp = 0 } = decodeJwt(String(first.json()['access_token']));
    // The event is recorded within a second after the answer was decided.
    expect([0, 1]).toContain(Number(again.json()['expires_in']) - (exp - issued[1].at));
    expect(issued[1].token_id).toBe(issued[0].token_id);
    expect(issued[1].request_id).not.toBe(issued[0].request_id);
  });

  it('must leave each token some time', async () => {
    const environment = { TOKEN_REUSE_SECONDS: '151', TOKEN_LIFETIME_SECONDS: '300' };
    await expect(startServiceUnderTest({ environment })).rejects.toThrow(
      'TOKEN_REUSE_SECONDS: must be at most half of',
    );
  });
});
