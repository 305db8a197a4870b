import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkloadKey } from '../support/workload-issuer.ts';
import { type Candidate, startInMemory } from './candidates.ts';
import { STANDARD_LOAD } from './measurement.ts';
import { temporaryFolder } from './registrations.ts';
import { writeBodies } from './signing-clients.ts';

const ISSUER = 'https://cluster.test';
const AUDIENCE = 'https://auth.test';
const BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Longer than a benchmark takes, and not longer than an assertion may live. */
const LIFETIME_SECONDS = 3_600;

/**
 * The service with clients in memory that authenticate with tokens of another issuer, signed with RS256 as by Kubernetes.
 * They are minted here, before the load, and each is presented many times.
 */
export async function startFederated(name: string, opened: AsyncDisposableStack): Promise<Candidate> {
  const folder = await temporaryFolder(opened);
  const key = new WorkloadKey('bench');
  const accounts = Array.from({ length: STANDARD_LOAD.clients.count }, (_, n) => `client-${n + 1}`);
  const registered = accounts.map((account) => ({
    client_id: account,
    client_secret: '*',
    client_name: account,
    scope: 'read write',
    federated_subjects: [{ issuer: ISSUER, subject: subjectOf(account), claims: conditionsOf(account) }],
  }));
  const issuersFile = join(folder, 'issuers.json');
  await writeFile(
    issuersFile,
    JSON.stringify([{ issuer: ISSUER, jwks: { keys: [key.jwk()] }, preset: 'kubernetes' }]),
    { mode: 0o600 },
  );
  const bodies = new Map(accounts.map((account) => [account, bodyOf(key, account)]));
  const environment = {
    CLIENT_AUTHENTICATION_METHODS: 'federated_jwt',
    CLIENT_ASSERTION_ISSUERS_FILE: issuersFile,
    TOKEN_ISSUER: AUDIENCE,
  };
  const candidate = await startInMemory(name, registered, opened, { environment });
  const presented = (account: string) => bodies.get(account) ?? '';
  const writeThem = (count: number, clients: number) => writeBodies(presented, count, clients);
  return { ...candidate, signingClients: { bodyOf: presented, writeBodies: writeThem } };
}

function subjectOf(account: string): string {
  return `system:serviceaccount:bench:${account}`;
}

function conditionsOf(account: string): Readonly<Record<string, string>> {
  return { '/kubernetes.io/namespace': 'bench', '/kubernetes.io/serviceaccount/name': account };
}

function bodyOf(key: WorkloadKey, account: string): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    aud: [AUDIENCE],
    exp: now + LIFETIME_SECONDS,
    iat: now,
    iss: ISSUER,
    'kubernetes.io': {
      namespace: 'bench',
      pod: { name: 'pod', uid: 'uid' },
      serviceaccount: { name: account, uid: 'uid' },
    },
    nbf: now,
    sub: subjectOf(account),
  };
  const form = {
    grant_type: 'client_credentials',
    client_assertion_type: BEARER,
    client_assertion: key.mint({ claims }),
  };
  return new URLSearchParams(form).toString();
}
