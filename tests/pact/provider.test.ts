import { beforeAll, describe, expect, it } from '@jest/globals';
import { contractNames } from './contract-folder.ts';
import { runVerification } from './run-verification.ts';
import type { VerifiedInteraction } from './verify-contract.ts';
import type { Verification } from './verify-provider.ts';

const API_CLIENT = 'api-client-client-credentials-authorization-service.json';
const RESOURCE_SERVER = 'resource-server-client-credentials-authorization-service.json';

/** Changes that would break a consumer: the name or the text that is changed, and the interactions that must show it. */
const BREAKS: readonly { readonly rename: string; readonly contract: string; readonly broken: readonly string[] }[] = [
  {
    rename: 'access_token=accessToken',
    contract: API_CLIENT,
    broken: ['a token request for a scope of the registration', 'a token request of a registered client'],
  },
  { rename: 'city_name=cityName', contract: API_CLIENT, broken: ['a request for a location with a token'] },
  { rename: 'jwks_uri=jwksUri', contract: RESOURCE_SERVER, broken: ['a request for the metadata'] },
  { rename: 'client_secret_post=none', contract: RESOURCE_SERVER, broken: ['a request for the metadata'] },
  { rename: 'kid=keyId', contract: RESOURCE_SERVER, broken: ['a request for the key set'] },
];

const isBroken = ({ problems }: VerifiedInteraction) => problems.length > 0;

describe.each(['memory', 'postgres'] as const)('the service with its registrations in %s', (repository) => {
  let contracts: Verification['contracts'] | undefined;
  beforeAll(async () => {
    [{ contracts } = { contracts: {} }] = await runVerification(repository);
  }, 120_000);

  it.each(contractNames())('keeps the contract %s', (name) => {
    expect(contracts?.[name]).not.toHaveLength(0);
    expect(contracts?.[name]?.filter(isBroken)).toEqual([]);
  });
});

describe('a change that breaks a consumer', () => {
  let verifications: readonly Verification[];
  beforeAll(async () => {
    verifications = await runVerification('memory', { renames: BREAKS.map(({ rename }) => rename) });
  }, 60_000);

  it.each(BREAKS)('is shown by the interactions that it breaks: $rename', ({ rename, contract, broken }) => {
    const interactions = verifications.find((one) => one.rename === rename)?.contracts[contract];
    expect(interactions?.filter(isBroken).map(({ description }) => description)).toEqual(broken);
  });

  it('is named with the field that is missing', () => {
    const interactions = verifications.find(({ rename }) => rename === 'access_token=accessToken')?.contracts;
    const request = interactions?.[API_CLIENT]?.find((one) => one.description.endsWith('of a registered client'));
    expect(request?.problems).toEqual([expect.stringContaining('access_token')]);
  });
});
