import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compactJws, generateSigningKey } from '../../tests/support/assertions.ts';
import { type AssertionUse, assertionFields, type ClaimedOrigin } from '../../tests/support/forged-assertion.ts';
import { runAt } from '../../tests/support/run-at.ts';
import { WorkloadKey } from '../../tests/support/workload-issuer.ts';
import { type Registration, temporaryFolder } from './registrations.ts';

export type AssertionMethod = 'private_key_jwt' | 'federated_jwt';

/** Methods of authentication that a setting switches on. */
export type OptionalMethod = 'client_secret_basic' | AssertionMethod;
export const OPTIONAL_METHODS: readonly OptionalMethod[] = ['client_secret_basic', 'private_key_jwt', 'federated_jwt'];

/** The audience of all assertions. */
export const AUDIENCE = 'http://issuer.test';

/** The issuer of workloads, which the service trusts. */
const PLATFORM = 'https://platform.test';

/** Seconds for which an assertion is valid: longer than a round of load. */
const LIFETIME_SECONDS = 280;

/** Clients that authenticate with assertions by one method, and share one key. */
export interface AssertionClients {
  readonly method: AssertionMethod;
  /** What the service has to trust beside the registrations. */
  readonly environment: Readonly<Record<string, string>>;
  /** Whether an assertion is accepted more than once, so that a load mints one for each client. */
  readonly isPresentedAgain: boolean;
  /** These clients with their key, or with a rule for the workload of their name. */
  register(clients: readonly Registration[]): readonly Registration[];
  /** Inserts what `register` added into the tables of a service. */
  insert(databaseUrl: string, clients: readonly Registration[]): Promise<void>;
  /** The body of a token request of this client, with a new assertion. */
  bodyOf(clientId: string, use?: AssertionUse): string;
}

/** Where an assertion of a client or workload of this name comes from, or claims to. */
export function originOf(method: AssertionMethod, name: string): ClaimedOrigin {
  return { iss: method === 'private_key_jwt' ? name : PLATFORM, sub: name, aud: AUDIENCE };
}

/** The settings of a service with these methods, and with what these clients need. */
export function methodSettings(
  methods: readonly string[],
  clients?: AssertionClients,
): Readonly<Record<string, string>> {
  return { CLIENT_AUTHENTICATION_METHODS: methods.join(), TOKEN_ISSUER: AUDIENCE, ...clients?.environment };
}

/** Clients that sign assertions with ES256. */
export function signingClients(): AssertionClients {
  const key = generateSigningKey('ES256');
  const jwk = { ...key.jwk, kid: 'bench', alg: 'ES256' };
  return {
    method: 'private_key_jwt',
    environment: {},
    isPresentedAgain: false,
    register: (clients) => clients.map((client) => ({ ...client, jwks: { keys: [jwk] } })),
    async insert(databaseUrl, clients) {
      const ids = clients.filter((client) => 'jwks' in client).map(({ client_id }) => client_id);
      const text = `update clients set credentials = $1 where client_id = any($2)`;
      await runAt(databaseUrl, text, [{ jwks: { keys: [jwk] } }, ids]);
      await runAt(databaseUrl, 'vacuum analyze clients');
    },
    bodyOf: (id, use) =>
      bodyWith(compactJws({ alg: 'ES256', kid: 'bench' }, claimsOf('private_key_jwt', id), key.seal), use),
  };
}

/** What the tokens of a platform and the rules for its workloads have. */
interface Platform {
  readonly preset: 'kubernetes' | 'none';
  subjectOf(name: string): string;
  conditionsOf(name: string): Readonly<Record<string, string>>;
  claimsOf(name: string): object;
}

const PLATFORMS: Readonly<Record<'RS256' | 'ES384', Platform>> = {
  RS256: {
    preset: 'kubernetes',
    subjectOf: (name) => `system:serviceaccount:bench:${name}`,
    conditionsOf: (name) => ({ '/kubernetes.io/namespace': 'bench', '/kubernetes.io/serviceaccount/name': name }),
    claimsOf: (name) => ({ 'kubernetes.io': { namespace: 'bench', serviceaccount: { name, uid: 'uid' } } }),
  },
  ES384: { preset: 'none', subjectOf: (name) => name, conditionsOf: () => ({}), claimsOf: () => ({}) },
};

/** Workloads of a platform that signs with RS256, as Kubernetes does, or with ES384, which costs a verifier most. */
export async function workloads(
  algorithm: keyof typeof PLATFORMS,
  opened: AsyncDisposableStack,
): Promise<AssertionClients> {
  const key = new WorkloadKey('platform', algorithm);
  const { preset, subjectOf, conditionsOf, ...platform } = PLATFORMS[algorithm];
  const issuersFile = join(await temporaryFolder(opened), 'issuers.json');
  const entry = { issuer: PLATFORM, jwks: { keys: [key.jwk()] }, preset };
  await writeFile(issuersFile, JSON.stringify([entry]), { mode: 0o600 });
  return {
    method: 'federated_jwt',
    environment: { CLIENT_ASSERTION_ISSUERS_FILE: issuersFile },
    isPresentedAgain: true,
    register: (clients) =>
      clients.map((client) => {
        const rule = { subject: subjectOf(client.client_id), claims: conditionsOf(client.client_id) };
        return { ...client, federated_subjects: [{ issuer: PLATFORM, ...rule }] };
      }),
    async insert(databaseUrl, clients) {
      const ids = clients.filter((client) => 'federated_subjects' in client).map(({ client_id }) => client_id);
      for (const id of ids) {
        const rule = { issuer: PLATFORM, subject: subjectOf(id), claims: conditionsOf(id) };
        const credentials = { federated_subjects: [rule] };
        await runAt(databaseUrl, 'update clients set credentials = $1 where client_id = $2', [credentials, id]);
      }
    },
    bodyOf(id, use) {
      const claims = { ...claimsOf('federated_jwt', subjectOf(id)), ...platform.claimsOf(id) };
      return bodyWith(key.mint({ claims }), use);
    },
  };
}

function claimsOf(method: AssertionMethod, name: string) {
  const iat = Math.floor(Date.now() / 1_000);
  return { ...originOf(method, name), iat, exp: iat + LIFETIME_SECONDS, jti: randomUUID() };
}

function bodyWith(assertion: string, use?: AssertionUse): string {
  return new URLSearchParams(assertionFields(assertion, use)).toString();
}
