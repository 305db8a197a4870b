import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GOOD_CLIENT, type ServiceUnderTest, startServiceUnderTest } from '../../support/running-service.ts';
import { GARBAGE, guessFor, unknownClient } from './attack-requests.ts';
import { RawConnection } from './raw-connection.ts';

describe('the requests of the attackers, on one raw connection', () => {
  let service: ServiceUnderTest;
  let connection: RawConnection;
  beforeAll(async () => {
    service = await startServiceUnderTest();
    connection = new RawConnection(service.port);
  });
  afterAll(() => service.stop());

  it('that guess a secret are answered with 401', async () => {
    expect(await connection.send(guessFor(GOOD_CLIENT.client_id))).toBe(401);
    expect(await connection.send(unknownClient())).toBe(401);
  });

  it.each(GARBAGE.map((request) => [request.slice(request.indexOf('\r\n\r\n') + 4, 90), request]))(
    'that are garbage are answered with 400: %j',
    async (_, request) => {
      expect(await connection.send(request)).toBe(400);
    },
  );
});
