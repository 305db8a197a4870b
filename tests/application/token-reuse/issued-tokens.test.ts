import { expect, it } from '@jest/globals';
import type { IssuedToken } from '../../../application/issue-token.ts';
import type { SigningKey } from '../../../application/ports/key-provider.ts';
import { IssuedTokens } from '../../../application/token-reuse/issued-tokens.ts';
import { ClientRegistration } from '../../../domain/client-registration.ts';

const FIELDS = { id: '1', clientId: 'billing', clientSecret: '$2b$04$x', clientName: 'Billing', scope: 'read write' };
const NOW = 1_795_000_000;

function registered(change: Partial<typeof FIELDS> = {}): ClientRegistration {
  const registration = ClientRegistration.of({ ...FIELDS, ...change });
  if (!registration.ok) throw new Error('the fields are wrong');
  return registration.value;
}

function suite(seconds = 60, max?: number) {
  const key = { kid: 'first' };
  let signed = 0;
  const keys = { signingKey: async () => key as SigningKey };
  const tokens = new IssuedTokens({ keys, seconds, ...(max !== undefined && { max }) });
  const issue = (
    change: { now?: number; registration?: ClientRegistration; scope?: string; resources?: string[] } = {},
  ) => {
    const { now = NOW, registration = registered(), scope = 'read', resources = [] } = change;
    return tokens.issue({ registration, scope, resources }, now, async () => {
      signed += 1;
      const claims = { iat: now, exp: now + 300, jti: `token ${signed}` };
      return { accessToken: `jws ${signed}`, claims, scope, expiresInSeconds: 300 } as unknown as IssuedToken;
    });
  };
  return { tokens, key, issue };
}

it('issues the same token for the same request, with the time that remains', async () => {
  const { issue } = suite();
  const first = await issue();
  expect(await issue({ now: NOW + 59 })).toEqual({ ...first, expiresInSeconds: 241, isReused: true });
});

it.each<[string, Parameters<ReturnType<typeof suite>['issue']>[0]]>([
  ['when the time is over', { now: NOW + 60 }],
  ['when the clock was set back', { now: NOW - 1 }],
  ['for other scopes', { scope: 'write' }],
  ['for a resource', { resources: ['https://api.example'] }],
  ['for another client with the same scopes', { registration: registered({ id: '2', clientId: 'shop' }) }],
  ['once the secret has changed', { registration: registered({ clientSecret: '$2b$04$y' }) }],
  ['once the registered scopes have changed', { registration: registered({ scope: 'read' }) }],
  ['once the client has another name', { registration: registered({ clientName: 'Other' }) }],
  ['once the client was removed and added again', { registration: registered({ id: '2' }) }],
])('issues a new token %s', async (_name, change) => {
  const { issue } = suite();
  const first = await issue();
  const second = await issue(change);
  expect(second.accessToken).not.toBe(first.accessToken);
  expect(second.isReused).toBeUndefined();
});

it('issues a new token once another key signs, and none of the key before again', async () => {
  const { issue, key } = suite();
  await issue();
  key.kid = 'second';
  expect((await issue()).accessToken).toBe('jws 2');
  key.kid = 'first';
  expect((await issue()).accessToken).toBe('jws 3');
});

it('does not keep a token if the key changed while it was signed', async () => {
  let asked = 0;
  const keys = {
    async signingKey() {
      asked += 1;
      return { kid: `key ${asked}` } as SigningKey;
    },
  };
  const tokens = new IssuedTokens({ keys, seconds: 60 });
  const grant = { registration: registered(), scope: 'read', resources: [] };
  await tokens.issue(grant, NOW, async () => ({ accessToken: 'jws' }) as IssuedToken);
  expect(tokens.size).toBe(0);
});

it('keeps nothing of a signature that fails', async () => {
  const { tokens } = suite();
  const grant = { registration: registered(), scope: 'read', resources: [] };
  const fault = new Error('no key');
  await expect(tokens.issue(grant, NOW, () => Promise.reject(fault))).rejects.toBe(fault);
  expect(tokens.size).toBe(0);
});

it('keeps no more than its bound, and evicts the oldest token', async () => {
  const { tokens, issue } = suite(60, 2);
  for (const scope of ['a', 'b', 'c']) await issue({ scope });
  expect(tokens.size).toBe(2);
  expect((await issue({ scope: 'c' })).isReused).toBe(true);
  expect((await issue({ scope: 'a' })).isReused).toBeUndefined();
});

it('drops what is too old when another token is kept', async () => {
  const { tokens, issue } = suite();
  for (const scope of ['a', 'b']) await issue({ scope });
  await issue({ scope: 'c', now: NOW + 60 });
  expect(tokens.size).toBe(1);
});

it('takes scopes in another order for the same request', async () => {
  const { issue } = suite();
  await issue({ scope: 'read write' });
  expect((await issue({ scope: 'write read' })).isReused).toBe(true);
});

it('keeps no token that is too long to be issued', async () => {
  const tokens = new IssuedTokens({ keys: { signingKey: async () => ({ kid: 'k' }) as SigningKey }, seconds: 60 });
  const grant = { registration: registered(), scope: 'read', resources: [] };
  await tokens.issue(
    grant,
    NOW,
    async () => ({ accessToken: 'x'.repeat(12_289), claims: { iat: NOW } }) as IssuedToken,
  );
  expect(tokens.size).toBe(0);
});
