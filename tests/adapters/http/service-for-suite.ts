import { afterAll, beforeAll, expect } from '@jest/globals';
import { type ServiceOptions, type ServiceUnderTest, startServiceUnderTest } from '../../support/running-service.ts';

/**
 * One running service for a suite. Every secret that the tests send has `-secret` in it and every token begins with
 * `eyJ`; so after each suite the whole log that it caused is searched for both.
 */
export function serviceForSuite(options: ServiceOptions = {}): () => ServiceUnderTest {
  let service: ServiceUnderTest | undefined;
  beforeAll(async () => {
    service = await startServiceUnderTest(options);
  });
  afterAll(async () => {
    await service?.stop();
    expect(service?.logText()).not.toMatch(/(?<!authenticate-by)-secret(?!\.ts)|eyJ/);
  });
  return () => {
    if (service === undefined) throw new Error('the service does not run yet');
    return service;
  };
}

/** The line of the request log with the response's request id. There is exactly one. */
export function logLineOf(
  service: ServiceUnderTest,
  answer: { headers: Record<string, unknown> },
): Record<string, unknown> {
  const lines = service
    .logLines()
    .filter((line) => line['request_id'] === answer.headers['x-request-id'] && line['log'] !== 'audit');
  expect(lines).toHaveLength(1);
  return lines[0] ?? {};
}
