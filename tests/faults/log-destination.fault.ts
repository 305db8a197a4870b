import { openSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { BUFFER_BYTES } from '../../adapters/log/line-writer.ts';
import { auditLinesIn, requestIdsOf } from '../support/audit-lines.ts';
import { requestToken, send } from '../support/http.ts';
import { readSamples } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { startServiceOn } from '../support/service-without-log.ts';
import { UnreadPipe } from '../support/unread-pipe.ts';
import { until } from '../support/until.ts';

const REQUESTS = 40;
const CONNECTIONS = 8;

/** Each destination, with the note of /readyz if it fails. */
const DESTINATIONS = {
  'a full device': { note: 'log lines cannot be written: ENOSPC' },
  'a pipe that was closed': { note: 'log lines cannot be written: EPIPE' },
  'a full pipe that nobody reads': { note: undefined },
} as const;

describe('the service whose standard output is', () => {
  const pipes: UnreadPipe[] = [];
  afterEach(() => {
    for (const pipe of pipes.splice(0)) pipe[Symbol.dispose]();
  });

  function open(destination: keyof typeof DESTINATIONS): number {
    if (destination === 'a full device') return openSync('/dev/full', 'w');
    const pipe = new UnreadPipe();
    pipes.push(pipe);
    if (destination === 'a pipe that was closed') pipe.closeReader();
    else pipe.fill();
    return pipe.writer;
  }

  it.each(Object.keys(DESTINATIONS) as (keyof typeof DESTINATIONS)[])(
    '%s: issues tokens, reports the fault, and ends on SIGTERM',
    async (destination) => {
      await using service = await startServiceOn(open(destination));
      for (let count = 0; count < REQUESTS; count += 1) {
        expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
      }
      const { note } = DESTINATIONS[destination];
      await service.untilNote(note);
      expect(await service.terminate()).toBe(0);
    },
  );

  it('a pipe that is closed and opened again: goes on, and has the lines of the time between', async () => {
    const pipe = new UnreadPipe();
    pipes.push(pipe);
    await using service = await startServiceOn(pipe.writer);
    pipe.closeReader();
    const issued: unknown[] = [];
    const issue = async () =>
      issued.push((await requestToken(service.url, DEMO_TOKEN_REQUEST)).headers['x-request-id']);
    await issue();
    await service.untilNote('log lines cannot be written: EPIPE');
    await issue();
    pipe.openReader();
    await service.untilNote(undefined);
    await issue();
    let text = '';
    await until(() => {
      text += pipe.read();
      const recorded = requestIdsOf(auditLinesIn(text), 'token_issued');
      return issued.every((id) => recorded.has(id));
    }, 'each token is logged');
    expect(await service.linesLost()).toBe(0);
    expect(await service.terminate()).toBe(0);
  });

  it('a pipe that nobody reads: refuses tokens at the deadline with AUDIT_REQUIRED=true, until somebody reads', async () => {
    const pipe = new UnreadPipe();
    pipes.push(pipe);
    await using service = await startServiceOn(pipe.writer, { AUDIT_REQUIRED: 'true' });
    let text = pipe.read();
    const issued = new Set<unknown>();
    pipe.fill();
    expect((await requestToken(service.url, DEMO_TOKEN_REQUEST)).status).toBe(503);
    const { status, text: checks } = await send(service.managementUrl, '/readyz');
    expect([status, checks]).toEqual([503, expect.stringContaining('audit lines cannot be written: ETIMEDOUT')]);
    await until(async () => {
      text += pipe.read();
      const response = await requestToken(service.url, DEMO_TOKEN_REQUEST);
      if (response.status === 200) issued.add(response.headers['x-request-id']);
      return issued.size === 3;
    }, 'tokens are issued again');
    text += pipe.read();
    const recorded = requestIdsOf(auditLinesIn(text), 'token_issued');
    expect([...issued].filter((id) => !recorded.has(id))).toEqual([]);
    expect(await service.terminate()).toBe(0);
  });

  it('a pipe that nobody reads for a long time: keeps a bounded number of lines, and then says how many were lost', async () => {
    const pipe = new UnreadPipe();
    pipes.push(pipe);
    await using service = await startServiceOn(pipe.writer);
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    const load = Array.from({ length: CONNECTIONS }, async () => {
      while ((await service.linesLost()) === 0)
        for (let count = 0; count < 100; count += 1) await postToken(service.url, agent);
    });
    await Promise.all(load);
    agent.destroy();
    const samples = readSamples((await send(service.managementUrl, '/metrics')).text);
    const buffered = samples.filter(({ name }) => name === 'auth_log_buffered_bytes').map(({ value }) => value);
    expect(Math.max(...buffered)).toBeGreaterThan(0.99 * BUFFER_BYTES);
    expect(Math.max(...buffered)).toBeLessThanOrEqual(BUFFER_BYTES);
    await service.untilNote('log lines are lost: the disk or the reader is too slow');
    let text = '';
    await until(() => {
      text += pipe.read();
      return /"event":"log_lines_lost","lines":[1-9]/.test(text);
    }, 'the loss is logged');
    expect(await service.terminate()).toBe(0);
  });
});

/** A token request on a connection that stays open. */
function postToken(url: string, agent: Agent): Promise<void> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/oauth2/token`, { method: 'POST', agent, headers }, (response) => {
      response.resume().once('end', resolve);
    });
    outgoing.once('error', reject).end(new URLSearchParams(DEMO_TOKEN_REQUEST).toString());
  });
}
