import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';
import { until } from '../../support/until.ts';
import { requestFor } from './attack-requests.ts';
import { ConnectionFlood } from './connection-flood.ts';
import { FLOODS, type FloodName } from './floods.ts';
import { measureHiddenGuess, measureLockOut } from './lock-out.ts';

describe('the floods, with two connections each', () => {
  let service: ServiceUnderTest;
  beforeAll(async () => {
    service = await startServiceUnderTest();
  });
  afterAll(() => service.stop());

  it.each<[FloodName, string]>([
    ['idle connections, 2,000', '401'],
    ['guesses, 500 x 15', '401'],
    ['large guesses, 2,000 x 15', '401'],
    ['large headers, 600 x 16', '401'],
    ['many header fields, 2,000 x 16', '401'],
    ['100,000 client ids, 500 x 4', '401'],
    ['abandoned guesses, 2,000', 'closed'],
  ])('%s get %s', async (name, answer) => {
    const sockets: { destroy(): void }[] = [];
    const flood = new ConnectionFlood(service.port, 2, (connection) => {
      sockets.push(connection.socket);
      FLOODS[name].begin(connection);
    });
    await until(() => (flood.answers[answer] ?? 0) > 0, 'an answer has arrived');
    expect(Object.keys(flood.answers)).not.toContain('400');
    for (const socket of sockets) socket.destroy();
  });

  it('and the two attacks on one client id end with an answer to its owner', async () => {
    const clientId = GOOD_CLIENT.client_id;
    const job = { port: service.port, clientId, ownRequest: requestFor(clientId, GOOD_SECRET) };
    expect(await measureLockOut(job, 3)).not.toBeNull();
    expect(await measureHiddenGuess(job, 15)).toEqual({ status: 200, milliseconds: expect.any(Number) });
  });
});
