import { describe, expect, it } from '@jest/globals';
import { readHttpAnswer } from './raw-connection.ts';

const BODY = '{"error":"invalid_client"}';
const ANSWER = [
  'HTTP/1.1 401 Unauthorized',
  'Cache-Control: no-store',
  'Content-Type: application/json; charset=utf-8',
  `Content-Length: ${BODY.length}`,
  'Connection: keep-alive',
  '',
  BODY,
].join('\r\n');

describe('an answer on a raw connection', () => {
  it('is read with its status and its length', () => {
    expect(readHttpAnswer(ANSWER)).toEqual({ status: 401, length: ANSWER.length, closes: false });
  });

  it('is undefined until its last byte has arrived', () => {
    for (const length of [0, 20, ANSWER.indexOf(BODY), ANSWER.length - 1]) {
      expect(readHttpAnswer(ANSWER.slice(0, length))).toBeUndefined();
    }
  });

  it('ends where the next begins', () => {
    expect(readHttpAnswer(`${ANSWER}HTTP/1.1 200`)?.length).toBe(ANSWER.length);
  });

  it('says whether the server closes the connection', () => {
    expect(readHttpAnswer(ANSWER.replace('keep-alive', 'close'))?.closes).toBe(true);
  });

  it('without Content-Length is an error', () => {
    expect(() => readHttpAnswer('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')).toThrow('Content-Length');
  });
});
