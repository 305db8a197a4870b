import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { LoadLimit } from '../../../adapters/http/admission/load-limit.ts';
import type { AuditEvent, AuditLog } from '../../../application/ports/audit-log.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { PARTS } from '../../../config/parts.ts';
import { getAccessToken, requestToken, send, sendRaw } from '../../support/http.ts';
import { GOOD_SECRET } from '../../support/running-service.ts';
import { until } from '../../support/until.ts';
import { serviceForSuite } from './service-for-suite.ts';

const GOOD = { grant_type: 'client_credentials', client_id: 'good-client', client_secret: GOOD_SECRET };

type Service = ReturnType<ReturnType<typeof serviceForSuite>>;

/** The audit lines with the answer's request id, without what differs each time. */
function auditLinesOf(service: Service, { headers }: { readonly headers: Record<string, unknown> }) {
  return service
    .logLines()
    .filter((line) => line['log'] === 'audit' && line['request_id'] === headers['x-request-id'])
    .map(({ log: _log, level: _level, time: _time, at: _at, request_id: _id, ...rest }) => rest);
}

const FROM = { remote_address: '127.0.0.1' };

describe('each token request is in the audit log exactly once', () => {
  const service = serviceForSuite();

  it('when it gets a token', async () => {
    const answer = await requestToken(service().url, { ...GOOD, scope: 'read' });
    expect(answer.status).toBe(200);
    expect(auditLinesOf(service(), answer)).toEqual([
      {
        event: 'token_issued',
        client_id: 'good-client',
        token_id: expect.any(String),
        scope: 'read',
        expires_at: expect.any(Number),
        ...FROM,
      },
    ]);
  });

  it.each([
    [
      'a wrong secret',
      { ...GOOD, client_secret: 'wrong-secret' },
      { reason: 'secret_wrong', client_id: 'good-client' },
    ],
    ['an unknown client, without its id', { ...GOOD, client_id: 'my-secret' }, { reason: 'client_unknown' }],
    [
      'an unregistered scope',
      { ...GOOD, scope: 'admin' },
      { reason: 'scope_not_registered', client_id: 'good-client' },
    ],
    ['no grant type', { client_id: 'good-client' }, { reason: 'grant_type_missing' }],
    ['another grant type', { grant_type: 'password' }, { reason: 'grant_type_unsupported' }],
    ['no secret', { grant_type: 'client_credentials', client_id: 'good-client' }, { reason: 'credentials_missing' }],
    ['a body that is too large', { ...GOOD, more: 'x'.repeat(20_000) }, { reason: 'content_too_large' }],
  ])('when it is refused for %s', async (_case, form, refused) => {
    const answer = await requestToken(service().url, form as Record<string, string>);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(auditLinesOf(service(), answer)).toEqual([{ event: 'token_refused', ...refused, ...FROM }]);
  });

  it.each([
    ['a wrong media type', { 'content-type': 'application/json' }, 'content_type_unsupported'],
    ['an encoding', { 'content-encoding': 'gzip' }, 'content_encoding_unsupported'],
    ['two ways to authenticate', { authorization: 'Basic eDp5' }, 'authorization_beside_body'],
  ])('when it is refused for %s', async (_case, headers, reason) => {
    const answer = await requestToken(service().url, GOOD, headers);
    expect(auditLinesOf(service(), answer)).toEqual([{ event: 'token_refused', reason, ...FROM }]);
  });

  it('when it has no Host', async () => {
    const raw = await sendRaw(service().port, 'POST /oauth2/token HTTP/1.1\r\nContent-Length: 0\r\n\r\n');
    const headers = { 'x-request-id': /X-Request-Id: (\S+)/i.exec(raw)?.[1] };
    expect(auditLinesOf(service(), { headers })).toEqual([
      { event: 'token_refused', reason: 'host_malformed', ...FROM },
    ]);
  });

  it('when its client disconnects before the end of its body', async () => {
    const count = () =>
      service()
        .logText()
        .match(/"event":"token_refused".*"reason":"client_disconnected"/g)?.length ?? 0;
    const socket = connect(service().port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      'POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\ngrant',
    );
    await until(() => service().container.resolve(PARTS.httpServer).load.connections > 0, 'the connection is open');
    socket.destroy();
    await until(() => count() === 1, 'the request is recorded');
  });

  it('and no other request is', async () => {
    const token = await getAccessToken(service().url, 'good-client', GOOD_SECRET);
    const answers = [
      await send(service().url, '/oauth2/token'),
      await send(service().url, '/oauth2/token/', { method: 'POST' }),
      await send(service().url, '/v1/locations/NYC_USA'),
      await send(service().url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}x` } }),
      await send(service().url, '/none', { headers: { authorization: `Bearer ${token}` } }),
    ];
    for (const answer of answers) expect(auditLinesOf(service(), answer)).toEqual([]);
  });
});

describe('a token request that the service could not decide', () => {
  const fails = (fault: Error) => ({
    findByClientId: () => Promise.reject(fault),
    findSecret: () => Promise.reject(fault),
  });

  describe('because of a bug', () => {
    const service = serviceForSuite({
      override: (container) => container.registerInstance(PARTS.clientRepository, fails(new Error('a bug'))),
    });
    it('is recorded once', async () => {
      const answer = await requestToken(service().url, GOOD);
      expect(answer.status).toBe(500);
      expect(auditLinesOf(service(), answer)).toEqual([{ event: 'token_refused', reason: 'unforeseen', ...FROM }]);
    });
  });

  describe('because of too much load', () => {
    const service = serviceForSuite({
      override: (container) =>
        container.registerInstance(
          PARTS.loadLimit,
          new LoadLimit({ inFlight: 0, inFlightWhenLate: 0, lateMs: Number.POSITIVE_INFINITY }),
        ),
    });
    it('is recorded once', async () => {
      const answer = await requestToken(service().url, GOOD);
      expect(answer.status).toBe(503);
      expect(auditLinesOf(service(), answer)).toEqual([{ event: 'token_refused', reason: 'overloaded', ...FROM }]);
    });
  });

  describe('because of too many failed attempts', () => {
    const service = serviceForSuite({ environment: { CLIENT_FAILURES_PER_MINUTE: '1' } });
    it('is recorded once', async () => {
      const attempts = Array.from({ length: 20 }, () =>
        requestToken(service().url, { ...GOOD, client_id: 'nobody', client_secret: 'wrong-secret' }),
      );
      const slow = (await Promise.all(attempts)).filter(({ status }) => status === 429);
      expect(slow.length).toBeGreaterThan(0);
      for (const answer of slow) {
        expect(auditLinesOf(service(), answer)).toEqual([
          { event: 'token_refused', reason: 'attempts_exhausted', ...FROM },
        ]);
      }
    });
  });

  describe('because its line cannot be written', () => {
    const lost: AuditEvent[] = [];
    const auditLog: AuditLog = {
      async record(event) {
        if (event.event.startsWith('key_')) return;
        lost.push(event);
        throw new DependencyUnavailable('audit log', new Error('no space left'));
      },
    };
    const service = serviceForSuite({ override: (container) => container.registerInstance(PARTS.auditLog, auditLog) });

    it.each([
      ['a token', GOOD, 503],
      ['a wrong secret', { ...GOOD, client_secret: 'wrong-secret' }, 503],
      ['a malformed request', { grant_type: 'password' }, 400],
    ])('is lost once: %s', async (_case, form, status) => {
      lost.length = 0;
      const answer = await requestToken(service().url, form);
      expect(answer.status).toBe(status);
      expect(lost).toHaveLength(1);
    });
  });
});
