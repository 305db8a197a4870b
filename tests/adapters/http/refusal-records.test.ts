import { describe, expect, it } from '@jest/globals';
import {
  CLIENTS_MAX,
  RECORDS_OF_A_REASON,
  RefusalRecords,
} from '../../../adapters/http/status-page/refusal-records.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { RequestLine } from '../../../application/ports/telemetry.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

const LINE: RequestLine = {
  request_id: 'id-0',
  method: 'POST',
  route: '/oauth2/token',
  status: 401,
  duration_ms: 12.5,
  remote_address: '192.0.2.7',
  error: 'invalid_client',
  reason: 'secret_wrong',
};

describe('the records of refusals', () => {
  it('have what the log line has, and when it was', () => {
    const records = new RefusalRecords(new FixedClock(1_800_000_000));
    records.add({ ...LINE, client_id: 'good-client' });
    expect(records.find({ requestId: 'id-0' })).toEqual([
      {
        request_id: 'id-0',
        at: 1_800_000_000,
        status: 401,
        error: 'invalid_client',
        reason: 'secret_wrong',
        route: '/oauth2/token',
        method: 'POST',
        remote_address: '192.0.2.7',
        client_id: 'good-client',
        duration_seconds: 0.0125,
      },
    ]);
  });

  it('name what was unavailable, and nothing else of a fault', () => {
    const records = new RefusalRecords(new FixedClock());
    const fault = new DependencyUnavailable('client repository', new Error('its cause'));
    records.add({ ...LINE, reason: 'dependency_unavailable', fault });
    const found = records.find({ requestId: 'id-0' });
    expect(found).toMatchObject([{ dependency: 'client repository' }]);
    expect(JSON.stringify(found)).not.toContain('its cause');
  });

  it('are of refused requests only', () => {
    const records = new RefusalRecords(new FixedClock());
    const { reason: _, ...answered } = LINE;
    records.add({ ...answered, status: 200 });
    expect(records.size).toBe(0);
    expect(records.find({ requestId: 'id-0' })).toEqual([]);
  });

  it('are 256 for each reason, so that a flood of one evicts no record of another', () => {
    const records = new RefusalRecords(new FixedClock());
    records.add({ ...LINE, request_id: 'of another reason', reason: 'scope_malformed' });
    for (let number = 0; number < 3 * RECORDS_OF_A_REASON + 7; number += 1) {
      records.add({ ...LINE, request_id: `flood-${number}` });
    }
    expect(records.size).toBe(RECORDS_OF_A_REASON + 1);
    const isKept = (requestId: string) => records.find({ requestId }).length === 1;
    expect(isKept('of another reason')).toBe(true);
    const [oldest, newest] = [2 * RECORDS_OF_A_REASON + 7, 3 * RECORDS_OF_A_REASON + 6];
    expect([oldest - 1, oldest, newest].map((number) => isKept(`flood-${number}`))).toEqual([false, true, true]);
  });

  it('are 5 for each registered client, the latest first, also when a flood has evicted them elsewhere', () => {
    const records = new RefusalRecords(new FixedClock());
    const add = (number: number) => records.add({ ...LINE, request_id: `own-${number}`, client_id: 'good-client' });
    for (let number = 1; number <= 4; number += 1) add(number);
    const own = () => records.find({ clientId: 'good-client' }).map(({ request_id: id }) => id);
    expect(own()).toEqual(['own-4', 'own-3', 'own-2', 'own-1']);
    for (let number = 5; number <= 13; number += 1) add(number);
    for (let number = 0; number < 300; number += 1) records.add({ ...LINE, request_id: `flood-${number}` });
    expect(own()).toEqual(['own-13', 'own-12', 'own-11', 'own-10', 'own-9']);
    expect(records.find({ requestId: 'own-9' })).toHaveLength(1);
    expect(records.find({ requestId: 'own-8' })).toHaveLength(0);
  });

  it('are of 1,000 clients, of which the one that was refused least recently is evicted', () => {
    const records = new RefusalRecords(new FixedClock());
    const refuse = (clientId: string) => records.add({ ...LINE, client_id: clientId });
    refuse('first');
    refuse('second');
    refuse('first');
    for (let number = 3; number <= CLIENTS_MAX; number += 1) refuse(`client-${number}`);
    refuse('one too many');
    expect(records.clients).toBe(CLIENTS_MAX);
    expect(records.find({ clientId: 'second' })).toEqual([]);
    expect(records.find({ clientId: 'first' })).toHaveLength(2);
    const latest = records.find({ latestClients: 2 });
    expect(latest.map(({ client_id: id }) => id)).toEqual(['one too many', `client-${CLIENTS_MAX}`]);
    expect(records.find({ reason: 'secret_wrong' })).toHaveLength(RECORDS_OF_A_REASON);
    expect(records.find({ reason: 'another' })).toEqual([]);
  });
});
