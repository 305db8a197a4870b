import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { listenOnLoopback } from '../support/loopback-server.ts';
import { type Burst, burstFigures, sendFirstRequests } from './burst.ts';
import { tokenRequest } from './token-requests.ts';

/** A burst in which all requests took this many milliseconds. */
function burst(connections: number, service: number, limit: number, refused = 0, failures = 0): Burst {
  return {
    connections,
    ofService: { times: Array(connections).fill(service), refused, failures },
    ofLimit: { times: Array(connections).fill(limit), refused: 0, failures: 0 },
  };
}

it('reports the medians of the rounds of each number of connections, next to the limit', () => {
  const bursts = [burst(2, 30, 20), burst(4, 90, 50), burst(2, 50, 20), burst(4, 70, 50, 1, 2), burst(2, 40, 20)];
  expect(burstFigures(bursts)).toEqual([
    { connections: 2, p50Ms: 40, p99Ms: 40, rounds: [30, 50, 40], limitMs: 20, ratio: 2, refused: 0, failures: 0 },
    { connections: 4, p50Ms: 80, p99Ms: 80, rounds: [90, 70], limitMs: 50, ratio: 1.6, refused: 1, failures: 2 },
  ]);
});

it('measures the answers with status 200 from opening the connection on, and counts the others', async () => {
  // Answers with the status that the body names, after 20 ms.
  const server = createServer(async (request, response) => {
    const body = await text(request);
    await delay(20);
    if (body === 'reset') request.socket.destroy();
    else response.writeHead(Number(body), { 'Content-Length': 2 }).end('{}');
  });
  await using listening = await listenOnLoopback(server);
  const requests = ['200', '200', '503', '401', 'reset'].map((body) => tokenRequest(body));
  const { times, refused, failures } = await sendFirstRequests(Number(new URL(listening.url).port), requests);
  expect({ refused, failures }).toEqual({ refused: 1, failures: 2 });
  expect(times).toHaveLength(2);
  // A timer may be early by a part of a millisecond.
  for (const milliseconds of times) expect(milliseconds).toBeGreaterThan(19);
});

it('counts connections that are refused as failures', async () => {
  const answers = await sendFirstRequests(await freePort(), [tokenRequest('200')]);
  expect(answers).toEqual({ times: [], refused: 0, failures: 1 });
});
