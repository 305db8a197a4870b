import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { contractFile, contractNames } from './contract.ts';
import { type Provider, startProvider } from './provider.ts';

const VERIFY_MS_MAX = 60_000;

describe.each(['memory', 'postgres'] as const)('the service with registrations in %s', (store) => {
  let provider: Provider;
  beforeAll(async () => {
    provider = await startProvider(store);
  }, VERIFY_MS_MAX);
  afterAll(async () => provider[Symbol.asyncDispose]());

  it.each(contractNames())('fulfils the contract %s', (name) => provider.verify(contractFile(name)), VERIFY_MS_MAX);
});

describe('the verification', () => {
  let provider: Provider;
  let folder: string;
  beforeAll(async () => {
    provider = await startProvider('memory');
    folder = await mkdtemp(join(tmpdir(), 'contract-'));
  });
  afterAll(async () => {
    await provider[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** Verifies a contract of one interaction, which is answered with 401. */
  async function verifyRefusal(state: object, body: object): Promise<void> {
    const interaction = {
      description: 'a request without a token',
      providerStates: [state],
      request: { method: 'GET', path: '/v1/locations/NYC_USA' },
      response: { status: 401, body },
    };
    const file = join(folder, 'contract.json');
    const parties = { consumer: { name: 'billing' }, provider: { name: 'client-credentials-authorization-service' } };
    const metadata = { pactSpecification: { version: '3.0.0' } };
    await writeFile(file, JSON.stringify({ ...parties, interactions: [interaction], metadata }));
    await provider.verify(file);
  }

  const KNOWN = { name: 'a location is known', params: { code: 'NYC_USA' } };
  const ERROR = { error: 'unauthorized' };

  it('passes a contract of another team that the service fulfils', () => verifyRefusal(KNOWN, ERROR), VERIFY_MS_MAX);

  it.each([
    ['requires a field that the service does not return', KNOWN, { ...ERROR, reason: 'no token' }, 'reason'],
    ['names an unknown state', { name: 'the moon is full' }, ERROR, 'unknown provider state "the moon is full"'],
    ['names a state that cannot be', { ...KNOWN, params: { code: 'X' } }, ERROR, 'location X is not known'],
    ['names a state without its parameter', { name: KNOWN.name }, ERROR, 'the parameter code is missing'],
  ])(
    'fails a contract that %s',
    async (_, state, body, message) => {
      await expect(verifyRefusal(state, body)).rejects.toThrow(message);
    },
    VERIFY_MS_MAX,
  );
});
