import { Agent, request } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { RejectionDelay } from '../../../adapters/http/admission/rejection-delay.ts';
import { PARTS } from '../../../config/parts.ts';
import { serviceForSuite } from './service-for-suite.ts';

describe('RejectionDelay', () => {
  it('delays rejections beyond a connection’s limit per second until that second is over', () => {
    let now = 0;
    const delay = new RejectionDelay(2, () => now);
    const socket = new Socket();
    expect([delay.delayMs(socket), delay.delayMs(socket)]).toEqual([0, 0]);
    now = 400;
    expect(delay.delayMs(socket)).toBe(600);
    expect(delay.delayMs(new Socket())).toBe(0);
    now = 1_000;
    expect([delay.delayMs(socket), delay.delayMs(socket), delay.delayMs(socket)]).toEqual([0, 0, 1_000]);
  });
});

describe('a connection whose requests are rejected', () => {
  const service = serviceForSuite({
    override: (container) => container.registerInstance(PARTS.rejectionDelay, new RejectionDelay(3)),
  });

  it('gets the same answers with a delay, while other connections get theirs without one', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const other = new Agent({ keepAlive: true, maxSockets: 1 });
    const begin = performance.now();
    for (let time = 0; time < 3; time += 1) expect(await ask(agent)).toBe('{"error":"unauthorized"}');
    const slowed = ask(agent).then((answer) => ({ answer, at: performance.now() }));
    for (let time = 0; time < 3; time += 1) await ask(other);
    const others = performance.now();
    const { answer, at } = await slowed;
    expect(answer).toBe('{"error":"unauthorized"}');
    expect(at - begin).toBeGreaterThanOrEqual(990);
    expect(others).toBeLessThan(at);
    agent.destroy();
    other.destroy();
  });

  function ask(agent: Agent): Promise<string> {
    return new Promise((resolve, reject) => {
      const asked = request(`${service().url}/nowhere`, { agent }, (answer) => text(answer).then(resolve, reject));
      asked.on('error', reject);
      asked.end();
    });
  }
});
