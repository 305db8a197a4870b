import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { PARTS } from '../../config/parts.ts';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { freePort } from '../support/free-port.ts';
import { getAccessToken, type HttpAnswer, requestToken, send } from '../support/http.ts';
import { OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { readSamples, total } from '../support/read-samples.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../support/running-service.ts';
import { until } from '../support/until.ts';

const GOOD = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT_ID = 'b7ad6b7169203331';
const [SERVER, INTERNAL] = [2, 1];

const EC = generateSigningKey('ES256');
const KEY_CLIENT = {
  client_id: 'key-client',
  client_name: 'x',
  scope: 'read',
  jwks: { keys: [{ ...EC.jwk, kid: 'k' }] },
};
const RESOURCE = 'https://api.example.com';

const namesOf = (spans: readonly ReceivedSpan[]) => spans.map(({ name }) => name);

describe('a traced request', () => {
  let receiver: OtlpReceiver;
  let service: ServiceUnderTest;
  let fault: Error | undefined;
  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
    service = await startServiceUnderTest({
      environment: {
        ...receiver.environment,
        CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
        CLIENT_FAILURES_PER_MINUTE: '0',
      },
      clients: [{ ...GOOD_CLIENT, resources: [RESOURCE] }, KEY_CLIENT],
      opened: (container) => {
        const clients = container.resolve(PARTS.clientRepository);
        container.registerInstance(PARTS.clientRepository, {
          findWithKeys: (...args) => (fault ? Promise.reject(fault) : clients.findWithKeys(...args)),
          findBySubject: (...args) => clients.findBySubject(...args),
          findByClientId: (...args) => (fault ? Promise.reject(fault) : clients.findByClientId(...args)),
          findSecret: (...args) => (fault ? Promise.reject(fault) : clients.findSecret(...args)),
        });
      },
    });
  });
  afterAll(async () => {
    await service.stop();
    const sent = receiver.bodies.map(String).join('\n');
    // Every secret of these tests has -secret in it, and every token and assertion begins with eyJ.
    expect(sent).not.toMatch(/-secret|eyJ|\$2[aby]\$/);
    await receiver[Symbol.asyncDispose]();
  });

  const traceOf = ({ headers }: HttpAnswer) => receiver.traceOf(headers['x-request-id']);

  it('of a new client has a span for each step, below the span of the request', async () => {
    const answer = await requestToken(service.url, { ...GOOD, resource: RESOURCE });
    const [root, ...steps] = await traceOf(answer);
    expect(root).toMatchObject({
      name: 'POST /oauth2/token',
      kind: SERVER,
      status: { code: 0 },
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/oauth2/token',
        'http.response.status_code': 200,
        'url.scheme': 'http',
        'client.address': '127.0.0.1',
        'auth.client_id': 'good-client',
        'auth.token_id': expect.any(String),
        'auth.request_id': answer.headers['x-request-id'],
      },
    });
    expect(root).not.toHaveProperty('parentSpanId');
    // The first two begin at the same time.
    expect(namesOf(steps).slice(0, 2).toSorted()).toEqual(['look up secret', 'wait for slot']);
    expect(namesOf(steps).slice(2)).toEqual(['verify secret', 'look up client', 'look up resources', 'sign token']);
    for (const step of steps) {
      expect(step).toMatchObject({ kind: INTERNAL, traceId: root.traceId });
      expect(BigInt(step.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(root.endTimeUnixNano));
    }
    expect(steps[2]?.attributes).toEqual({ 'auth.verdict': 'match' });
  });

  it('of a cached client has only the steps that it takes', async () => {
    await requestToken(service.url, GOOD);
    const [, ...steps] = await traceOf(await requestToken(service.url, GOOD));
    expect(namesOf(steps)).toEqual(['look up client', 'sign token']);
  });

  it('of a client with a key', async () => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: 'key-client', sub: 'key-client', aud: ISSUER, exp: now + 60, jti: 'a' };
    const answer = await requestToken(service.url, {
      grant_type: GOOD.grant_type,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: compactJws({ alg: 'ES256', kid: 'k' }, claims, EC.seal),
    });
    expect(answer.status).toBe(200);
    const [, ...steps] = await traceOf(answer);
    expect(namesOf(steps)).toEqual([
      'look up keys',
      'wait for slot',
      'verify assertion',
      'look up client',
      'sign token',
    ]);
  });

  it('of a resource verifies the token', async () => {
    const token = await getAccessToken(service.url, GOOD.client_id, GOOD_SECRET);
    const answer = await send(service.url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });
    const [root, ...steps] = await traceOf(answer);
    expect(root.name).toBe('GET /v1/locations/:code');
    expect(steps.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['verify token', { 'auth.verdict': 'verified' }],
    ]);
  });

  it('that is refused says why, and names only a registered client', async () => {
    const wrong = await requestToken(service.url, { ...GOOD, client_secret: 'wrong-secret' });
    const [known, ...steps] = await traceOf(wrong);
    expect(known.attributes).toMatchObject({
      'auth.error': 'invalid_client',
      'auth.reason': 'secret_wrong',
      'auth.client_id': 'good-client',
    });
    // A refusal is no error of the service (HTTP semantic conventions).
    expect([known.status, known.attributes['error.type']]).toEqual([{ code: 0 }, undefined]);
    expect(steps.find(({ name }) => name === 'verify secret')?.attributes).toEqual({ 'auth.verdict': 'mismatch' });

    const unknown = await requestToken(service.url, { ...GOOD, client_id: 'a-name-of-nobody' });
    const [root] = await traceOf(unknown);
    expect(root.attributes['auth.reason']).toBe('client_unknown');
    expect(root.attributes).not.toHaveProperty('auth.client_id');
    expect(receiver.bodies.map(String).join()).not.toContain('a-name-of-nobody');
  });

  it('that fails is an error, with the kind of the fault and not its message', async () => {
    fault = new DependencyUnavailable('client repository', new Error('connect to 10.0.0.1'));
    const answer = await requestToken(service.url, GOOD).finally(() => {
      fault = undefined;
    });
    expect(answer.status).toBe(503);
    const [root, ...steps] = await traceOf(answer);
    expect(root).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'dependency_unavailable' } });
    expect(steps.find(({ name }) => name === 'look up client')).toMatchObject({
      status: { code: 2 },
      attributes: { 'error.type': 'DependencyUnavailable' },
    });
    expect(receiver.bodies.map(String).join()).not.toMatch(/10\.0\.0\.1/);
  });

  it('never has the path, the query or a header field as it was sent', async () => {
    const answer = await send(service.url, '/a-path-secret?b=query-secret', {
      method: 'PROPFIND',
      headers: { 'user-agent': 'agent-secret', 'x-forwarded-for': '192.0.2.7' },
    });
    const [root, ...steps] = await traceOf(answer);
    expect(root).toMatchObject({ name: 'HTTP', attributes: { 'http.request.method': '_OTHER' } });
    expect(root.attributes).not.toHaveProperty('http.route');
    expect(steps).toEqual([]);
  });

  it.each<[string, Record<string, string | string[]>, boolean]>([
    ['well-formed', { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` }, true],
    ['of a later version', { traceparent: `01-${TRACE_ID}-${PARENT_ID}-01-more` }, true],
    ['malformed', { traceparent: `00-${TRACE_ID}-${PARENT_ID}` }, false],
    ['sent twice', { traceparent: [`00-${TRACE_ID}-${PARENT_ID}-01`, `00-${TRACE_ID}-${PARENT_ID}-01`] }, false],
  ])('continues the trace of a traceparent that is %s: only if there is one', async (_what, headers, continues) => {
    const answer = await requestToken(service.url, GOOD, headers);
    const [root] = await traceOf(answer);
    expect([root.traceId === TRACE_ID, root.parentSpanId === PARENT_ID]).toEqual([continues, continues]);
  });

  it('is not recorded if the caller records nothing (parentbased_always_on)', async () => {
    await requestToken(service.url, GOOD, { traceparent: `00-${'1'.repeat(32)}-${PARENT_ID}-00` });
    const last = await requestToken(service.url, GOOD);
    await traceOf(last);
    expect(receiver.spans().filter(({ traceId }) => traceId === '1'.repeat(32))).toEqual([]);
  });

  it('names the service, and the attributes of OTEL_RESOURCE_ATTRIBUTES', async () => {
    await using other = await startServiceUnderTest({
      environment: {
        ...receiver.environment,
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20test,service.name=overridden',
        OTEL_SERVICE_NAME: 'token-service',
      },
    });
    const [root] = await traceOf(await requestToken(other.url, GOOD));
    expect(root.resource).toMatchObject({ 'service.name': 'token-service', 'deployment.environment.name': 'a test' });
    const [own] = await traceOf(await requestToken(service.url, GOOD));
    expect(own.resource['service.name']).toBe('client-credentials-authorization-service');
  });
});

describe('a collector that does not answer', () => {
  it('costs no request: spans are lost, counted and reported, and sent again when it answers', async () => {
    await using receiver = await OtlpReceiver.start();
    receiver.answer = 'hang';
    const managementPort = await freePort();
    const management = `http://127.0.0.1:${managementPort}`;
    await using service = await startServiceUnderTest({
      environment: {
        ...receiver.environment,
        MANAGEMENT_PORT: String(managementPort),
        OTEL_EXPORTER_OTLP_TIMEOUT: '100',
        OTEL_BSP_EXPORT_TIMEOUT: '100',
        OTEL_BSP_MAX_QUEUE_SIZE: '10',
      },
    });
    for (let time = 0; time < 10; time += 1) expect((await requestToken(service.url, GOOD)).status).toBe(200);
    const samples = async () => readSamples((await send(management, '/metrics')).text);
    await until(async () => total(await samples(), 'auth_trace_spans_lost_total') > 0, 'lost spans are counted');
    expect(total(await samples(), 'auth_trace_spans_waiting')).toBeLessThanOrEqual(10);
    expect(total(await samples(), 'auth_trace_spans_waiting_max')).toBe(10);
    const tracing = async () => {
      const { checks } = (await send(management, '/readyz')).json() as { checks: { name: string }[] };
      return checks.find(({ name }) => name === 'tracing');
    };
    await until(async () => 'note' in ((await tracing()) ?? {}), 'the fault is noted');
    expect(await tracing()).toEqual({ name: 'tracing', ready: true, note: 'spans are lost: TimeoutError' });
    expect(service.logLines()).toContainEqual(
      expect.objectContaining({ event: 'trace_export_failed', code: 'TimeoutError', level: 'warn' }),
    );

    receiver.answer = 200;
    await until(async () => {
      await requestToken(service.url, GOOD);
      return JSON.stringify(await tracing()) === '{"name":"tracing","ready":true}';
    }, 'spans are sent again');
    expect(service.logLines()).toContainEqual(expect.objectContaining({ event: 'trace_export_recovered' }));
  });
});
