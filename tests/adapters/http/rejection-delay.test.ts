import { Agent, request } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { RefusalPace } from '../../../adapters/http/admission/rejection-delay.ts';
import { TOKENS } from '../../../config/tokens.ts';
import { serviceForSuite } from './service-for-suite.ts';

describe('RefusalPace', () => {
  it('lets a connection have so many refusals in a second, and the next when the second is over', () => {
    let now = 0;
    const pace = new RefusalPace(2, () => now);
    const socket = new Socket();
    expect([pace.delayMs(socket), pace.delayMs(socket)]).toEqual([0, 0]);
    now = 400;
    expect(pace.delayMs(socket)).toBe(600);
    expect(pace.delayMs(new Socket())).toBe(0);
    now = 1_000;
    expect([pace.delayMs(socket), pace.delayMs(socket), pace.delayMs(socket)]).toEqual([0, 0, 1_000]);
  });
});

describe('a connection that sends what is refused', () => {
  const service = serviceForSuite({
    override: (container) => container.registerInstance(TOKENS.rejectionDelay, new RefusalPace(3)),
  });

  it('is answered more slowly, with the same answers, while others are not', async () => {
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
