import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROVIDER } from './contract-folder.ts';
import { runVerification } from './run-verification.ts';
import type { Verification } from './verify-provider.ts';

/** As another team's tools would write it, in version 3 of Pact's specification. */
const DROPPED = {
  consumer: { name: 'billing' },
  provider: { name: PROVIDER },
  interactions: [
    {
      description: 'a token request of billing',
      providerStates: [
        {
          name: 'a client is registered',
          params: { client_id: 'billing', client_secret: 'of-billing', scope: 'read' },
        },
      ],
      request: {
        method: 'POST',
        path: '/oauth2/token',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=client_credentials&client_id=billing&client_secret=of-billing',
      },
      response: { status: 200, body: { token_type: 'Bearer' } },
    },
    {
      description: 'a request that wants more than there is',
      providerStates: [
        { name: 'an access token was issued', params: { client_id: 'billing', scope: 'read' } },
        { name: 'a location is known', params: { code: 'NYC_USA' } },
      ],
      request: { method: 'GET', path: '/v1/locations/NYC_USA', headers: { Authorization: 'Bearer ACCESS_TOKEN' } },
      response: { status: 200, body: { code: 'NYC_USA', population: 8 } },
    },
    {
      description: 'a request in a state that nobody knows',
      providerStates: [{ name: 'the moon is full' }],
      request: { method: 'GET', path: '/v1/locations/NYC_USA' },
      response: { status: 401 },
    },
    {
      description: 'a request in a state that cannot be',
      providerStates: [{ name: 'a location is known', params: { code: 'NOWHERE' } }],
      request: { method: 'GET', path: '/v1/locations/NOWHERE' },
      response: { status: 401 },
    },
    {
      description: 'a request in a state without its parameter',
      providerStates: [{ name: 'a location is known' }],
      request: { method: 'GET', path: '/v1/locations/NYC_USA' },
      response: { status: 401 },
    },
  ],
  metadata: { pactSpecification: { version: '3.0.0' } },
};

let folder: string;
let verification: Verification | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contracts-'));
  await writeFile(join(folder, 'billing.json'), JSON.stringify(DROPPED));
  [verification] = await runVerification('memory', { folder });
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

function problemsOf(description: string): readonly string[] | undefined {
  return verification?.contracts['billing.json']?.find((one) => one.description === description)?.problems;
}

describe('a contract that another team drops into the folder', () => {
  it('is verified with clients of its own', () => {
    expect(problemsOf('a token request of billing')).toEqual([]);
  });

  it('is told what the service does not give', () => {
    expect(problemsOf('a request that wants more than there is')).toEqual([
      '$: Actual map is missing the following keys: population',
    ]);
  });

  it('is told of a state that nobody knows, though the answer is right', () => {
    expect(problemsOf('a request in a state that nobody knows')).toEqual([
      'no provider state is called "the moon is full"',
    ]);
  });

  it('is told of a state that cannot be brought about, though the answer is right', () => {
    expect(problemsOf('a request in a state that cannot be')).toEqual([
      'the provider state "a location is known" could not be brought about: location NOWHERE is not known',
    ]);
    expect(problemsOf('a request in a state without its parameter')).toEqual([
      'the provider state "a location is known" could not be brought about: the state lacks its parameter code',
    ]);
  });
});
