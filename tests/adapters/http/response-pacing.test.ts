import { Socket } from 'node:net';
import { setImmediate as nextPass } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { ResponsePacing } from '../../../adapters/http/admission/response-pacing.ts';
import { sendRefusal } from '../../../adapters/http/server/exchange.ts';
import { httpRefusal } from '../../../adapters/http/server/http-refusal.ts';
import { sendRaw } from '../../support/http.ts';
import { createHttpServer } from '../../support/http-server.ts';

type Kind = Parameters<ResponsePacing['mustWait']>[0];

/** Two responses of a kind in one pass. */
const TWO = { perPass: 2, waiting: 10 };

/** Has a response ready for each of these. Returns the names of those that were sent, as they are. */
function ready(pacing: ResponsePacing, responses: readonly (readonly [string, Kind, Socket?])[]): string[] {
  const sent: string[] = [];
  for (const [name, kind, socket = new Socket()] of responses) {
    if (pacing.mustWait(kind)) void pacing.wait(kind, socket).then(() => sent.push(name));
    else sent.push(name);
  }
  return sent;
}

describe('ResponsePacing', () => {
  it('sends the first refusals at once, and as many in each further pass, in order', async () => {
    const pacing = new ResponsePacing(TWO);
    const sent = ready(
      pacing,
      [...'abcde'].map((name) => [name, 'repeated refusal'] as const),
    );
    expect(sent).toEqual(['a', 'b']);
    await nextPass();
    expect(sent).toEqual(['a', 'b', 'c', 'd']);
    await nextPass();
    expect(sent).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(pacing.waiting).toBe(0);
  });

  it('sends a later response after those that wait', async () => {
    const pacing = new ResponsePacing(TWO);
    const sent = ready(
      pacing,
      [...'abcd'].map((name) => [name, 'repeated refusal'] as const),
    );
    await nextPass();
    const later = ready(pacing, [['e', 'repeated refusal']]);
    expect([sent, later]).toEqual([['a', 'b', 'c', 'd'], []]);
    await nextPass();
    expect(later).toEqual(['e']);
  });

  it('lets no token wait for refusals, nor for what needs no signature', () => {
    const pacing = new ResponsePacing(TWO);
    const refusals = [...'abcde'].map((name) => [name, 'repeated refusal'] as const);
    const keySets = [...'vwxyz'].map((name) => [name, 'other'] as const);
    expect(ready(pacing, [...refusals, ...keySets, ['token', 'token']])).toEqual(['a', 'b', 'v', 'w', 'token']);
  });

  it('forgets what it sent when a pass is over', async () => {
    const pacing = new ResponsePacing(TWO);
    for (let pass = 0; pass < 3; pass += 1) {
      const sent = ready(
        pacing,
        [...'ab'].map((name) => [name, 'repeated refusal'] as const),
      );
      expect(sent).toEqual(['a', 'b']);
      await nextPass();
    }
  });

  it('gives no place to a connection that was closed', async () => {
    const pacing = new ResponsePacing(TWO);
    const closed = new Socket().destroy();
    const sent = ready(pacing, [
      ['a', 'repeated refusal'],
      ['b', 'repeated refusal'],
      ['closed', 'repeated refusal', closed],
      ['c', 'repeated refusal'],
      ['d', 'repeated refusal'],
    ]);
    await nextPass();
    expect(sent).toEqual(['a', 'b', 'closed', 'c', 'd']);
  });

  it('is full when as many responses wait as may', async () => {
    const pacing = new ResponsePacing({ perPass: 1, waiting: 2 });
    ready(
      pacing,
      [...'abc'].map((name) => [name, 'repeated refusal'] as const),
    );
    expect([pacing.waiting, pacing.max, pacing.full]).toEqual([2, 2, true]);
    await nextPass();
    expect([pacing.waiting, pacing.full]).toEqual([1, false]);
  });
});

describe('a response that would wait, while as many wait as may', () => {
  it('is sent at once and ends its connection', async () => {
    const refuse = {
      GET: async (ctx: Parameters<typeof sendRefusal>[0]) => sendRefusal(ctx, httpRefusal('route_unknown')),
    };
    const route = { path: '/refused', access: { kind: 'public' }, methods: refuse } as const;
    const server = createHttpServer([route], { responsePacing: new ResponsePacing({ perPass: 0, waiting: 0 }) });
    const { port } = await server.listen({ port: 0, host: '127.0.0.1' });
    const received = await sendRaw(port, 'GET /refused HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3));
    expect(received.match(/HTTP\/1\.1 404/g)).toHaveLength(1);
    expect(received).toMatch(/Connection: close/i);
    await server.close(0, () => {});
  });
});
