import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClaimedOrigin } from '../../support/forged-assertion.ts';
import { JWT_BEARER } from '../../support/forged-assertion.ts';
import { runAt } from '../../support/run-at.ts';
import { WorkloadKey } from '../../support/workload-issuer.ts';
import { type Registration, temporaryFolder } from '../registrations.ts';
import { SigningClients } from '../signing-clients.ts';

/** Authentication methods that a service under attack has beside `client_secret_post`. */
export type AttackedMethod = 'client_secret_basic' | 'private_key_jwt' | 'federated_jwt';

export const ATTACKED_METHODS: readonly AttackedMethod[] = ['client_secret_basic', 'private_key_jwt', 'federated_jwt'];

/** The audience of all assertions. */
export const AUDIENCE = 'http://issuer.test';

/** The issuer of workloads, which the service trusts. */
export const PLATFORM = 'https://platform.test';

const LIFETIME_SECONDS = 280;

/** Where a forged assertion claims to come from: from a client, or from the platform. */
export const claimedBy: Readonly<Record<'private_key_jwt' | 'federated_jwt', (name: string) => ClaimedOrigin>> = {
  private_key_jwt: (name) => ({ iss: name, sub: name, aud: AUDIENCE }),
  federated_jwt: (name) => ({ iss: PLATFORM, sub: name, aud: AUDIENCE }),
};

/** The settings of a service with these methods, and clients that authenticate with assertions. */
export class AttackedMethods {
  readonly environment: Readonly<Record<string, string>>;
  readonly #signing = new SigningClients(AUDIENCE);
  readonly #platform: WorkloadKey;

  private constructor(environment: Readonly<Record<string, string>>, platform: WorkloadKey) {
    this.environment = environment;
    this.#platform = platform;
  }

  static async create(methods: readonly AttackedMethod[], opened: AsyncDisposableStack): Promise<AttackedMethods> {
    const platform = new WorkloadKey('platform', 'ES384');
    const issuers = join(await temporaryFolder(opened), 'issuers.json');
    const entry = { issuer: PLATFORM, jwks: { keys: [platform.jwk({ alg: 'ES384' })] }, preset: 'none' };
    await writeFile(issuers, JSON.stringify([entry]), { mode: 0o600 });
    const environment = {
      CLIENT_AUTHENTICATION_METHODS: ['client_secret_post', ...methods].join(','),
      TOKEN_ISSUER: AUDIENCE,
      ...(methods.includes('federated_jwt') && { CLIENT_ASSERTION_ISSUERS_FILE: issuers }),
    };
    return new AttackedMethods(environment, platform);
  }

  /** These clients with a key of their own, or with a rule for the workload of their name. */
  register(
    method: 'private_key_jwt' | 'federated_jwt',
    clients: readonly Registration[],
  ): readonly (Registration & object)[] {
    if (method === 'private_key_jwt') return this.#signing.withKeys(clients);
    return clients.map((client) => ({
      ...client,
      federated_subjects: [{ issuer: PLATFORM, subject: client.client_id, claims: {} }],
    }));
  }

  /** Inserts what `register` added into the tables of a service. */
  async insert(
    method: 'private_key_jwt' | 'federated_jwt',
    databaseUrl: string,
    clients: readonly Registration[],
  ): Promise<void> {
    if (method === 'private_key_jwt') return this.#signing.insertKeys(databaseUrl, clients);
    const ids = clients.filter((client) => 'federated_subjects' in client).map(({ client_id }) => client_id);
    const text = `insert into client_subjects (client_id, registration_id, issuer, subject, claims)
      select client_id, id::text, $1, client_id, '{}' from clients where client_id = any($2)`;
    await runAt(databaseUrl, text, [PLATFORM, ids]);
  }

  /** The body of a token request of this client, with a new assertion. */
  bodyOf(method: 'private_key_jwt' | 'federated_jwt', clientId: string): string {
    if (method === 'private_key_jwt') return this.#signing.bodyOf(clientId);
    const iat = Math.floor(Date.now() / 1_000);
    const claims = { ...claimedBy.federated_jwt(clientId), iat, exp: iat + LIFETIME_SECONDS };
    const form = { grant_type: 'client_credentials', client_assertion_type: JWT_BEARER };
    return new URLSearchParams({ ...form, client_assertion: this.#platform.mint({ claims }) }).toString();
  }
}
