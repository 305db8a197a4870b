import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { startTokenWalk, type TokenWalk } from '../support/token-walk.ts';

/** What only other authentication methods need. */
const OF_OTHER_METHODS =
  /authenticate-(?:client|by-key|by-identity)|assertion|basic-credentials|client-key|subject|issuer|federated/;

describe.each([
  ['memory', 1],
  ['postgres', 2],
] as const)('the walk of a token request, with registrations in %s and %s worker(s)', (repository, workers) => {
  let database: TestDatabase | undefined;
  let walk: TokenWalk;

  beforeAll(async () => {
    database = repository === 'postgres' ? await createTestDatabase() : undefined;
    walk = await startTokenWalk(workers, database);
  });
  afterAll(async () => {
    await walk[Symbol.asyncDispose]();
    await database?.drop();
  });

  it('passes BCrypt, and no file of another authentication method, for a client that is new', async () => {
    const files = await walk.filesFor('a new client');
    expect(files).toContain('application/authenticate-by-secret.ts');
    expect(files).toContain('adapters/secrets/bcrypt-secret-verifier.ts');
    expect(files.filter((file) => OF_OTHER_METHODS.test(file))).toEqual([]);
  });

  it('passes the signature and no BCrypt for a client that is cached', async () => {
    const files = await walk.filesFor('a cached client');
    expect(files).toContain('adapters/jwt/node-crypto-token-signer.ts');
    expect(files).not.toContain('adapters/secrets/bcrypt-secret-verifier.ts');
  });
});
