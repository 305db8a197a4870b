import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { StatusData } from '../../adapters/http/status-page/status-data.ts';
import { requestToken, send } from '../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET } from '../support/running-service.ts';
import {
  type ServiceWithEverything,
  startServiceWithEverything,
  TOKEN_REQUEST,
} from '../support/service-with-everything.ts';
import { OPERATOR_TOKEN, readRefusal, readStatus, startServiceForOperator } from '../support/status.ts';
import { describeLog, describeMetrics, describeShape } from '../support/telemetry.ts';
import { until } from '../support/until.ts';

/**
 * Compares with a list that operators and their scripts rely on. A change is a change of the interface: to accept one, run this
 * file with UPDATE_TELEMETRY=true.
 */
function expectList(name: string, lines: readonly string[]): void {
  const file = new URL(`telemetry/${name}.txt`, import.meta.url);
  if (process.env['UPDATE_TELEMETRY'] === 'true') writeFileSync(file, `${lines.join('\n')}\n`);
  expect(lines).toEqual(readFileSync(file, 'utf8').trimEnd().split('\n'));
}

/** The first sample has no percentiles, since nothing was measured before. */
const shapeOf = (status: StatusData) => describeShape({ ...status, history: status.history.slice(0, 1) });

async function untilSampled(url: string): Promise<void> {
  await until(async () => {
    const { history, events } = await readStatus(url);
    return history.length > 0 && events.length > 0;
  }, 'the first sample is taken, and the start is among the events');
}

describe('operators and their scripts find what they know', () => {
  const folder = mkdtempSync(join(tmpdir(), 'telemetry-'));
  let everything: ServiceWithEverything;
  beforeAll(async () => {
    everything = await startServiceWithEverything({
      MANAGEMENT_TOKEN: OPERATOR_TOKEN,
      AUDIT_FILE: join(folder, 'audit.log'),
    });
  }, 120_000);
  afterAll(async () => {
    await everything[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  it('in /metrics and /status of a service with clients in memory', async () => {
    const { service, url } = await startServiceForOperator();
    await using _service = service;
    const form = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
    await untilSampled(url);
    await requestToken(service.url, form);
    const refused = await requestToken(service.url, { ...form, client_secret: 'wrong-secret' });
    expectList('metrics-in-memory', describeMetrics((await send(url, '/metrics')).text));
    const record = await readRefusal(url, String(refused.headers['x-request-id']));
    const shape = [...shapeOf(await readStatus(url)), ...describeShape(record, 'refusal')];
    expectList('status-in-memory', shape);
  });

  it('in /metrics, /status and the log of a service with everything', async () => {
    const { url, managementUrl, program } = everything;
    await untilSampled(managementUrl);
    await requestToken(url, TOKEN_REQUEST);
    await requestToken(url, { ...TOKEN_REQUEST, client_secret: 'wrong-secret' });
    let metrics = '';
    await until(async () => {
      metrics = (await send(managementUrl, '/metrics')).text;
      return metrics.includes('auth_client_keys_expiring');
    }, 'what expires is counted');
    expectList('metrics-of-everything', describeMetrics(metrics));
    expectList('status-of-everything', shapeOf(await readStatus(managementUrl)));
    process.kill(program.process.pid ?? 0, 'SIGHUP');
    await program.printed(/"event":"audit_file_reopened"/);
    program.process.kill('SIGTERM');
    await program.ended();
    // A busy machine may log more than that.
    const known = describeLog(program.stdout());
    expectList(
      'log',
      known.filter((line) => !/^(warn|error) (?!secret_cost_found)/.test(line)),
    );
    expectList('audit-lines', describeLog(readFileSync(join(folder, 'audit.log'), 'utf8')));
  });
});
