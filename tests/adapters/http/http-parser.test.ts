import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { sendRaw } from '../../support/http.ts';
import { until } from '../../support/until.ts';
import { serviceForSuite } from './service-for-suite.ts';

const FORM = 'grant_type=client_credentials&client_id=good-client&client_secret=good-secret';
const POST = 'POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n';

/** The parts of the last answer on a connection. */
function lastAnswer(received: string): { status: number; headers: string; body: Record<string, unknown> } {
  const answer = received.split(/(?=HTTP\/1\.1 \d{3} )/).at(-1) ?? '';
  const [headers = '', body = ''] = answer.split('\r\n\r\n');
  return { status: Number(headers.slice(9, 12)), headers, body: JSON.parse(body) };
}

describe('what Node’s HTTP parser refuses', () => {
  const service = serviceForSuite({
    limits: { httpTimeouts: { headersMs: 300, requestMs: 600, keepAliveMs: 300, unreadMs: 60_000, checkEveryMs: 50 } },
  });

  it.each([
    ['bytes that are not HTTP', 400, 'request_malformed', 'NONSENSE\r\n\r\n'],
    ['an unknown method', 400, 'request_malformed', 'BREW /oauth2/token HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a TLS greeting', 400, 'request_malformed', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a space before a colon', 400, 'request_malformed', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['a NUL in a header field', 400, 'request_malformed', 'GET / HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n'],
    ['two different lengths', 400, 'request_malformed', `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`],
    [
      'a length beside chunks (request smuggling)',
      400,
      'request_malformed',
      `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a length that is not a number', 400, 'request_malformed', `${POST}Content-Length: +5\r\n\r\nabcde`],
    ['a broken chunk', 400, 'request_malformed', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
    [
      'header fields over 8 KiB',
      431,
      'header_fields_too_large',
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(9_000)}\r\n\r\n`,
    ],
    [
      'more than 100 header fields',
      431,
      'header_fields_too_large',
      `GET / HTTP/1.1\r\nHost: x\r\n${'A:\r\n'.repeat(99)}Connection: close\r\n\r\n`,
    ],
    [
      'a header section that does not end in time',
      408,
      'request_timeout',
      'POST /oauth2/token HTTP/1.1\r\nHost: x\r\nA: ',
    ],
    ['a body that does not end in time', 408, 'request_timeout', `${POST}Content-Length: 100\r\n\r\ngrant_type=`],
    ['a tunnel', 401, 'token_missing', 'CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n'],
    ['no Host', 400, 'host_malformed', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a malformed Host', 400, 'host_malformed', 'GET / HTTP/1.1\r\nHost: a b/%zz\r\nConnection: close\r\n\r\n'],
    [
      'a fragment in the target',
      400,
      'request_malformed',
      'GET /oauth2/token# HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ],
    [
      'a backslash in the target',
      400,
      'request_malformed',
      'GET /oauth2\\token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ],
    [
      'a target that is not a URL',
      400,
      'request_malformed',
      'GET http://[/oauth2/token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ],
    [
      'a target that is a URL of another scheme',
      400,
      'request_malformed',
      'GET xhttp://x/oauth2/token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ],
    ['a later version', 400, 'request_malformed', 'GET / HTTP/2.0\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [
      'chunks before HTTP/1.1',
      400,
      'request_malformed',
      'POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a transfer coding beside chunked',
      400,
      'request_malformed',
      `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['two Hosts', 400, 'host_malformed', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
  ])('answers %s in JSON', async (_name, status, reason, request) => {
    const answer = lastAnswer(await sendRaw(service().port, request));
    expect(answer.status).toBe(status);
    expect(answer.body['error']).toBe(status === 401 ? 'unauthorized' : 'invalid_request');
    expect(answer.headers).toMatch(/\r\nContent-Type: application\/json; charset=utf-8\r\n/i);
    expect(answer.headers).toMatch(/\r\nCache-Control: no-store\r\n/i);
    expect(answer.headers).toMatch(/\r\nDate: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT(\r\n|$)/);
    const requestId = /\r\nX-Request-Id: (\S+)/i.exec(answer.headers)?.[1];
    const lines = () =>
      service()
        .logLines()
        .filter((line) => line['request_id'] === requestId && line['log'] !== 'audit');
    await until(() => lines().length > 0, 'the request is logged');
    expect(lines()).toEqual([expect.objectContaining({ status, reason })]);
  });

  it('refuses a body over 16 KiB by its declared length, before it is sent', async () => {
    const answer = await sendRaw(service().port, `${POST}Content-Length: 16385\r\nConnection: close\r\n\r\n`);
    expect(lastAnswer(answer)).toMatchObject({ status: 413, body: { error: 'invalid_request' } });
  });

  it('refuses a body over 16 KiB by counting it, if no length is declared', async () => {
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
    const answer = await sendRaw(
      service().port,
      `${POST}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunk.repeat(5)}0\r\n\r\n`,
    );
    expect(lastAnswer(answer)).toMatchObject({ status: 413, body: { error: 'invalid_request' } });
  });

  it('answers the next request on a connection after a body over 16 KiB, which it discards', async () => {
    const tooLarge = `${POST}Transfer-Encoding: chunked\r\n\r\n5000\r\n${'x'.repeat(0x5000)}\r\n0\r\n\r\n`;
    const next = `${POST}Content-Length: ${FORM.length}\r\nConnection: close\r\n\r\n${FORM}`;
    const received = await sendRaw(service().port, tooLarge, next);
    expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  it('reads a body of exactly 16 KiB in chunks of one byte, which also cut a character', async () => {
    const form = Buffer.from(`${FORM}&ignored=é`.padEnd(16 * 1024 - 1, 'x'));
    const chunks = [...form].flatMap((_, index) => ['1\r\n', form.subarray(index, index + 1), '\r\n']);
    const head = `${POST}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    const request = Buffer.concat([head, ...chunks, '0\r\n\r\n'].map((part) => Buffer.from(part)));
    expect(lastAnswer(await sendRaw(service().port, request))).toMatchObject({ status: 200 });
  });

  it('refuses a declared length that does not fit a number of 32 bits', async () => {
    const answer = await sendRaw(service().port, `${POST}Content-Length: 4294967300\r\nConnection: close\r\n\r\n`);
    expect(lastAnswer(answer)).toMatchObject({ status: 413 });
  });

  it('refuses a Content-Encoding before the body is sent', async () => {
    const answer = await sendRaw(
      service().port,
      `${POST}Content-Encoding: br\r\nContent-Length: 100\r\nConnection: close\r\n\r\n`,
    );
    expect(lastAnswer(answer)).toMatchObject({ status: 415 });
  });

  it('refuses a second Content-Encoding or Content-Type that Node would not show', async () => {
    const encodings = `${POST}Content-Encoding: identity\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
    expect(lastAnswer(await sendRaw(service().port, encodings))).toMatchObject({ status: 415 });
    const types = `${POST}Content-Type: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
    expect(lastAnswer(await sendRaw(service().port, types))).toMatchObject({ status: 400 });
  });

  it('answers a client that waits for 100 Continue, and one that expects something unknown', async () => {
    for (const expectation of ['100-continue', 'coffee']) {
      const head = `${POST}Expect: ${expectation}\r\nContent-Length: ${FORM.length}\r\nConnection: close\r\n\r\n`;
      expect(lastAnswer(await sendRaw(service().port, head, FORM))).toMatchObject({ status: 200 });
    }
  });

  it('answers an upgrade request as an ordinary one', async () => {
    const answer = await sendRaw(
      service().port,
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
    );
    expect(lastAnswer(answer)).toMatchObject({ status: 401 });
  });

  it('uses only the path of an absolute request target', async () => {
    const answer = await sendRaw(
      service().port,
      `GET http://evil.test/oauth2/token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(lastAnswer(answer)).toMatchObject({ status: 405 });
  });

  it('answers HTTP/1.0 without a Host', async () => {
    expect(lastAnswer(await sendRaw(service().port, 'GET / HTTP/1.0\r\n\r\n'))).toMatchObject({ status: 401 });
  });

  it('answers pipelined requests in order, and a malformed one after them', async () => {
    const one = `${POST}Content-Length: ${FORM.length}\r\n\r\n${FORM}`;
    const received = await sendRaw(service().port, `${one}${one}`);
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  it('answers a well-formed request itself, not the garbage after it', async () => {
    const received = await sendRaw(
      service().port,
      `${POST}Content-Length: ${FORM.length}\r\n\r\n${FORM}GARBAGE\r\n\r\n`,
    );
    // Not its digits alone, which an id or the signature may have too.
    expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200']);
  });

  it('closes the connection after a request for an upgrade, since Node discards what follows it', async () => {
    const upgrade = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const received = await sendRaw(service().port, `${upgrade}GET / HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(received.match(/HTTP\/1\.1 401/g)).toHaveLength(1);
    expect(received).toMatch(/\r\nConnection: close\r\n/i);
  });

  it('sends 100 Continue to a client that waits for it, unless the request is refused already', async () => {
    const waiting = (length: number) =>
      `${POST}Expect: 100-continue\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(service().port, waiting(FORM.length), FORM)).toMatch(/^HTTP\/1\.1 100 Continue/);
    expect(await sendRaw(service().port, waiting(16_385))).toMatch(/^HTTP\/1\.1 413/);
  });

  it('sends nothing after a refusal that did not wait for the body', async () => {
    const received = await sendRaw(service().port, `${POST}Content-Length: 20000\r\n\r\n${'x'.repeat(100)}`);
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(lastAnswer(received)).toMatchObject({ status: 413 });
  });

  it('disconnects a client that pipelines without end', async () => {
    const one = `${POST}Content-Length: ${FORM.length}\r\n\r\n${FORM}`;
    const received = await sendRaw(service().port, one.repeat(40));
    expect(received.match(/HTTP\/1\.1 200 OK/g)?.length ?? 0).toBeLessThan(40);
  });

  it.each(['IDENTITY', 'identity\r\nContent-Encoding: identity'])(
    'reads a body of Content-Encoding %j',
    async (encoding) => {
      const head = `${POST}Content-Encoding: ${encoding}\r\nContent-Length: ${FORM.length}\r\nConnection: close\r\n\r\n`;
      expect(lastAnswer(await sendRaw(service().port, head + FORM))).toMatchObject({ status: 200 });
    },
  );

  it('logs a client that disconnects before its body has arrived, and continues to serve others', async () => {
    const before = service().logLines().length;
    const socket = connect(service().port, '127.0.0.1');
    socket.write(`${POST}Content-Length: 100\r\n\r\ngrant_type=`, () => socket.destroy());
    await until(
      () =>
        service()
          .logLines()
          .slice(before)
          .some((line) => line['reason'] === 'client_disconnected'),
      'the disconnection is logged',
    );
    const answer = await sendRaw(
      service().port,
      `${POST}Connection: close\r\nContent-Length: ${FORM.length}\r\n\r\n${FORM}`,
    );
    expect(lastAnswer(answer)).toMatchObject({ status: 200 });
  });
});
