import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inspectCollector } from '../../../adapters/tracing/inspect-collector.ts';
import { freePort } from '../../support/free-port.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';

const OPTIONS = {
  protocol: 'http/protobuf',
  headers: () => ({ 'api-key': 'canary' }),
  compression: 'gzip',
  attemptMs: 10_000,
  exportMs: 30_000,
} as const;

describe('inspectCollector', () => {
  let receiver: OtlpReceiver;
  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
  });
  afterAll(() => receiver[Symbol.asyncDispose]());

  it.each([
    [200, 'ok', /accepts spans$/, undefined],
    [400, 'ok', /answers \(status 400\)$/, undefined],
    [401, 'note', /refuses spans with status 401$/, /OTEL_EXPORTER_OTLP_HEADERS/],
    [404, 'note', /refuses spans with status 404$/, /the path in OTEL_EXPORTER_OTLP_TRACES_ENDPOINT/],
    [429, 'note', /takes no spans now \(429\): they are lost$/, /start the collector/],
    [503, 'note', /takes no spans now \(503\): they are lost$/, /start the collector/],
  ])('asks once, without spans: status %i', async (answer, state, text, cure) => {
    receiver.answer = answer;
    receiver.bodies.length = 0;
    const findings = await inspectCollector({ ...OPTIONS, url: `${receiver.url}/canary/v1/traces` });
    expect(findings).toEqual([
      { state, text: expect.stringMatching(text), ...(cure && { cure: expect.stringMatching(cure) }) },
    ]);
    expect(receiver.bodies).toEqual([Buffer.alloc(0)]);
    expect(receiver.headers.at(-1)).toMatchObject({ 'api-key': 'canary', 'content-encoding': 'gzip' });
    expect(JSON.stringify(findings)).not.toContain('canary');
  });

  it('says that nothing listens there', async () => {
    const url = `http://127.0.0.1:${await freePort()}/v1/traces`;
    expect(await inspectCollector({ ...OPTIONS, url })).toMatchObject([
      { state: 'note', text: expect.stringContaining('(ECONNREFUSED)') },
    ]);
  });

  it('waits for one attempt only, which OTEL_EXPORTER_OTLP_TIMEOUT bounds', async () => {
    receiver.answer = 'hang';
    const url = `${receiver.url}/v1/traces`;
    expect(await inspectCollector({ ...OPTIONS, url, attemptMs: 50 })).toMatchObject([
      { state: 'note', text: expect.stringContaining('(TimeoutError)') },
    ]);
  });
});
