import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { freePort } from '../../support/free-port.ts';
import { listenOnLoopback } from '../../support/loopback-server.ts';
import { requestOf } from '../timing/timing-cases.ts';
import { sendFirstRequests } from './first-requests.ts';

/** Answers with the status that the body names, after 20 ms. */
async function listen() {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    await delay(20);
    if (body === 'reset') request.socket.destroy();
    else response.writeHead(Number(body), { 'Content-Length': 2 }).end('{}');
  });
  const listening = await listenOnLoopback(server);
  return { port: Number(new URL(listening.url).port), [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}

it('measures the answers with status 200 from opening the connection on, and counts the others', async () => {
  await using server = await listen();
  const requests = ['200', '200', '503', '401', 'reset'].map(requestOf);
  const { times, refused, failures } = await sendFirstRequests(server.port, requests);
  expect({ refused, failures }).toEqual({ refused: 1, failures: 2 });
  expect(times).toHaveLength(2);
  // A timer may be early by a part of a millisecond.
  for (const milliseconds of times) expect(milliseconds).toBeGreaterThan(19);
});

it('counts connections that are refused as failures', async () => {
  const answers = await sendFirstRequests(await freePort(), [requestOf('200')]);
  expect(answers).toEqual({ times: [], refused: 0, failures: 1 });
});
