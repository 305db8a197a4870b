import { beforeAll, describe, expect, it } from '@jest/globals';
import { SpanStatusCode } from '@opentelemetry/api';
import { describeRequest, traceFields } from '../../../adapters/tracing/active-span.ts';
import type { RequestLine } from '../../../application/ports/telemetry.ts';
import { inSpan, installContext, type RecordedSpan } from '../../support/tracing.ts';

const LINE: RequestLine = {
  request_id: 'a-request',
  method: 'POST',
  route: '/oauth2/token',
  status: 200,
  duration_ms: 1,
  remote_address: '192.0.2.1',
};

/** As an instrumentation of node:http begins it. */
function aSpan(): RecordedSpan {
  const attributes = { 'url.path': '/a-path-secret', 'url.query': 'client_secret=query-secret' };
  return { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: 'POST', status: SpanStatusCode.UNSET, attributes };
}

const described = (line: RequestLine, isRecording?: boolean) =>
  inSpan(aSpan(), () => describeRequest(line), isRecording);

describe('the active span of a preloaded SDK', () => {
  beforeAll(installContext);

  it('of a token has its route, its client and its id', () => {
    const span = described({ ...LINE, client_id: 'a-client', token_id: 'a-token' });
    expect(span).toMatchObject({ name: 'POST /oauth2/token', status: SpanStatusCode.UNSET });
    expect(span.attributes).toEqual({
      'http.response.status_code': 200,
      'http.route': '/oauth2/token',
      'url.path': '/oauth2/token',
      'url.query': '',
      'client.address': '192.0.2.1',
      'auth.request_id': 'a-request',
      'auth.client_id': 'a-client',
      'auth.token_id': 'a-token',
    });
  });

  it('of a refusal has its error and its reason, and is no error of the service', () => {
    const span = described({ ...LINE, status: 401, error: 'invalid_client', reason: 'secret_wrong' });
    expect(span.status).toBe(SpanStatusCode.UNSET);
    expect(span.attributes).toMatchObject({ 'auth.error': 'invalid_client', 'auth.reason': 'secret_wrong' });
    expect(span.attributes).not.toHaveProperty('error.type');
  });

  it.each([
    ['dependency_unavailable', { reason: 'dependency_unavailable' }],
    ['503', {}],
  ])('of a fault is an error of the type %s, without the message of the fault', (type, more) => {
    const span = described({ ...LINE, status: 503, fault: new Error('connect to 10.0.0.1'), ...more });
    expect(span).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { 'error.type': type } });
    expect(JSON.stringify(span)).not.toContain('10.0.0.1');
  });

  it('keeps neither the path nor the query of a request without a route, where callers put secrets', () => {
    const span = described({ ...LINE, route: 'none', status: 404 });
    expect(span).toMatchObject({ name: 'POST', attributes: { 'url.path': 'none', 'url.query': '' } });
    expect(span.attributes).not.toHaveProperty('http.route');
    expect(JSON.stringify(span)).not.toContain('-secret');
  });

  it('has no attribute of more than 300 characters', () => {
    const { attributes } = described({ ...LINE, client_id: 'x'.repeat(301) });
    expect(attributes['auth.client_id']).toBe('x'.repeat(300));
  });

  it('is named in the lines of its request, and left alone, where the trace is not recorded', () => {
    const fields: unknown[] = [];
    expect(described(LINE, false)).toEqual(aSpan());
    inSpan(aSpan(), () => fields.push(traceFields()), false);
    expect(fields).toEqual([{ trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16) }]);
  });

  it('is not needed: without one, nothing is described, and a line has no trace', () => {
    describeRequest(LINE);
    expect(traceFields()).toEqual({});
  });
});
