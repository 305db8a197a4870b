import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requestToken, send } from '../../tests/support/http.ts';
import { DEMO_TOKEN_REQUEST } from '../../tests/support/replica.ts';
import { type ServiceProcess, startServiceProcess } from '../../tests/support/service-process.ts';
import { type InstalledProject, installProject } from './installed-project.ts';
import { OtlpReceiver } from './otlp-receiver.ts';
import { TRACING } from './projects.ts';

const TRACE_ID = 'abcdef0123456789abcdef0123456789';
const PARENT_ID = 'b7ad6b7169203331';

let sdk: InstalledProject | undefined;
beforeAll(async () => {
  sdk = await installProject(TRACING);
});
afterAll(async () => {
  await sdk?.[Symbol.asyncDispose]();
});

/** The service behind the SDK, as docs/operate.md starts it. */
async function startTraced(endpoint: string, more = {}): Promise<ServiceProcess | undefined> {
  if (sdk === undefined) return undefined;
  return startServiceProcess({
    NODE_OPTIONS: `--import ${sdk.folder}/tracing.js`,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    ...more,
  });
}

describe('the SDK of OpenTelemetry, loaded as deploy/tracing loads it', () => {
  it('continues the trace of the caller, and sends the span of each request to the end', async () => {
    await using receiver = await OtlpReceiver.start();
    const traced = await startTraced(receiver.url, { OTEL_BSP_SCHEDULE_DELAY: '600000' });
    if (traced === undefined) return;
    await using program = traced.program;
    const traceparent = `00-${TRACE_ID}-${PARENT_ID}-01`;
    const response = await requestToken(traced.url, DEMO_TOKEN_REQUEST, { traceparent });
    const lost = await send(traced.url, '/a-path-secret?b=query-secret');
    expect((await send(traced.managementUrl, '/readyz')).status).toBe(200);
    expect(receiver.spans()).toEqual([]);
    program.process.kill('SIGTERM');
    expect(await program.ended()).toBe(0);

    const span = await receiver.spanOf(response.headers['x-request-id']);
    expect(span).toMatchObject({
      name: 'POST /oauth2/token',
      traceId: TRACE_ID,
      parentSpanId: PARENT_ID,
      attributes: { 'http.route': '/oauth2/token', 'url.path': '/oauth2/token', 'auth.client_id': 'demo-client' },
    });
    expect(program.stdout()).toContain(`"trace_id":"${TRACE_ID}","span_id":"${span.spanId}"`);
    expect((await receiver.spanOf(lost.headers['x-request-id'])).attributes['auth.reason']).toBe('token_missing');
    expect(receiver.spans()).toHaveLength(2);
    expect(receiver.text).not.toMatch(/-secret|eyJ/);
  });

  it('means by OTEL_TRACES_SAMPLER what OpenTelemetry means', async () => {
    await using receiver = await OtlpReceiver.start();
    const traced = await startTraced(receiver.url, { OTEL_TRACES_SAMPLER: 'always_off' });
    if (traced === undefined) return;
    await using program = traced.program;
    expect((await requestToken(traced.url, DEMO_TOKEN_REQUEST)).status).toBe(200);
    program.process.kill('SIGTERM');
    expect(await program.ended()).toBe(0);
    expect(receiver.spans()).toEqual([]);
    expect(program.stdout()).toContain('"trace_id":');
  });
});
