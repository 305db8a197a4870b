import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type AnswerCount, countAnswer } from './answer-count.ts';
import { NO_ANSWER } from './raw-connection.ts';

const BYTE_EVERY_MS = 1_000;

/** Opens a connection again and again, and sends a header that never ends, a byte now and then. */
export async function keepSlowLoris(port: number, counts: AnswerCount): Promise<never> {
  for (;;) {
    countAnswer(counts, await openSlowLoris(port));
    await delay(BYTE_EVERY_MS);
  }
}

/** Resolves with the status that the connection was ended with. */
function openSlowLoris(port: number): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1');
    socket.write('POST /oauth2/token HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    const timer = setInterval(() => socket.write('a'), BYTE_EVERY_MS);
    socket.on('data', (text) => {
      received += text;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? NO_ANSWER));
    });
  });
}
