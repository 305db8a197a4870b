import { expect, it } from '@jest/globals';
import { readHttpAnswer } from './raw-connection.ts';

const BODY = '{"error":"invalid_client"}';
const ANSWER = `HTTP/1.1 401 Unauthorized\r\nContent-Length: ${BODY.length}\r\nConnection: keep-alive\r\n\r\n${BODY}`;

it('reads the first answer on a raw connection, which ends where the next begins', () => {
  const answer = { status: 401, length: ANSWER.length, closes: false };
  expect(readHttpAnswer(ANSWER)).toEqual(answer);
  expect(readHttpAnswer(`${ANSWER}HTTP/1.1 200`)).toEqual(answer);
  expect(readHttpAnswer(ANSWER.replace('keep-alive', 'close'))?.closes).toBe(true);
});

it('reads no answer until its last byte has arrived', () => {
  for (const length of [0, 20, ANSWER.indexOf(BODY), ANSWER.length - 1]) {
    expect(readHttpAnswer(ANSWER.slice(0, length))).toBeUndefined();
  }
});

it('fails for an answer without Content-Length', () => {
  expect(() => readHttpAnswer('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')).toThrow('Content-Length');
});
