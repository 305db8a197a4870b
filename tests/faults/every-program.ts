import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { manageClients } from '../../config/programs/clients-program.ts';
import { manageKeys } from '../../config/programs/keys-program.ts';
import { migrateTables } from '../../config/programs/migrate-tables.ts';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { freePort } from '../support/free-port.ts';
import { type FormFields, requestToken, send } from '../support/http.ts';
import { inspectDatabase } from '../support/inspect-database.ts';
import { REGISTERED_CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { ISSUER, startServiceUnderTest } from '../support/running-service.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { until } from '../support/until.ts';
import { WorkloadIssuer } from '../support/workload-issuer.ts';

/** The roles of a deployment, by their URLs. */
interface DatabaseRoles {
  /** Creates tables, and manages clients. */
  readonly owner: string;
  /** Of the service. Creates the tables of the key directory. */
  readonly service: string;
  /** Gives the role of the service a privilege. */
  grant(privileges: string): Promise<unknown>;
  /** Whether such a statement was sent. */
  hasSent(statement: RegExp): boolean;
}

/** What all programs answered, without what differs in each run. */
export type Answers = Readonly<Record<string, readonly unknown[]>>;

const KEY = generateSigningKey('ES256');
const RESOURCE = 'https://api.example/';
const METHODS = 'client_secret_post,private_key_jwt,federated_jwt';
const SECRET = 'a-secret-of-24-characters';
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Runs every program of the service against an empty database, with every method and every command. */
export async function runEveryProgram({ owner, service: role, grant, hasSent }: DatabaseRoles): Promise<Answers> {
  const folder = await mkdtemp(join(tmpdir(), 'every-program-'));
  await using issuer = await WorkloadIssuer.start('kubernetes');
  const answers: Record<string, readonly unknown[]> = {};
  const { subject, issuer: issuerName, conditions } = issuer.platform;
  const rule = ['--issuer', issuerName, '--subject', subject];
  const claims = Object.entries(conditions).flatMap(([pointer, value]) => ['--claim', `${pointer}=${value}`]);
  const write = async (name: string, value: unknown) => {
    await writeFile(join(folder, name), JSON.stringify(value));
    return join(folder, name);
  };
  const clients = async (command: string, more: readonly string[] = [], stdin = '') => {
    const args = [...command.split(' '), ...more];
    const { exitCode, stdout, stderr } = await runInProcess(manageClients, args, { DATABASE_URL: owner }, stdin);
    answers[`clients ${command}`] =
      exitCode === 0 ? [0] : [exitCode, stderr.replaceAll(/^Warning: .*\n/gm, '').replaceAll(folder, '')];
    return stdout;
  };
  const inspect = async (when: string) => {
    const CLIENT_AUTHENTICATION_METHODS = 'client_secret_post,private_key_jwt';
    const findings = await inspectDatabase(role, { ...SEALED_KEYS, CLIENT_AUTHENTICATION_METHODS });
    answers[`doctor ${when}`] = findings.map(
      ({ state, text }) => `${state} ${text.replace(/(test|role)_\w+|(behind|ahead of)|[\d.]+ s |\d+/g, '')}`,
    );
  };

  await inspect('before');
  const { username } = new URL(role);
  // A dry run sends each look-up, and leaves the rights to what this file grants below.
  for (const user of ['service', 'clients', 'keys']) {
    const args = ['--dry-run', '--grant-to', username, '--role-for', user];
    const { exitCode, stdout, stderr } = await runInProcess(migrateTables, args, { DATABASE_URL: owner });
    answers[`migrate ${user}`] = exitCode === 0 ? stdout.replaceAll(username, 'role').split('\n') : [exitCode, stderr];
  }
  answers['migrate'] = [await migrateDatabase(owner), await migrateDatabase(owner)];
  await clients('list');
  const jwks = await write('jwks.json', { keys: [{ ...KEY.jwk, kid: 'k', alg: 'ES256' }] });
  await clients('add keyed --name Keyed --scope read --method private_key_jwt --jwks', [jwks]);
  await clients('add workload --name W --scope read --method federated_jwt', [...rule, ...claims]);
  await clients('add billing --name Billing --scope read --cost 4 --secret-stdin --resource', [RESOURCE], SECRET);
  await clients('add other --name Other --scope read --expires-in 10d --cost 4');
  const added = await clients('secrets add billing --name spring --expires-in 10d --cost 4 --json');
  const secretWithId = String(JSON.parse(added || '{}').client_secret);
  for (const command of [
    'list --json',
    'list --prefix b --after a --state enabled',
    'show billing',
    'show keyed --json',
  ]) {
    await clients(command);
  }
  for (const command of [
    'rotate other --keep-old-for 24h --cost 4',
    'disable other',
    'enable other',
    'secrets list other',
  ]) {
    await clients(command);
  }
  await clients('update other --name Renamed');
  await clients('update other --scope', ['read write']);
  await clients('update other --add-key', [jwks]);
  await clients('update other --remove-key', ['A'.repeat(43)]);
  await clients('update other --add-subject', [...rule, '--claim', '/a=b', '--add-resource', RESOURCE]);
  await clients('update other --remove-subject', [...rule, '--remove-resource', RESOURCE]);
  const { clientId: client_id, clientSecret: client_secret, clientName: client_name, scope } = REGISTERED_CLIENT;
  const registered = { client_id, client_secret, client_name, scope };
  await clients('import', [await write('clients.json', [registered, { ...registered, client_id: 'second' }])]);
  await clients('import --replace', [
    await write('more.json', [
      registered,
      {
        ...registered,
        client_id: 'second',
        client_name: 'Renamed',
        secrets: [{ secret_id: 'id', name: 'spring', client_secret, expires_at: 2_000_000_000 }],
        jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) }] },
        federated_subjects: [{ issuer: 'https://issuer.example', subject: 'second', claims: { '/a': 'b' } }],
        resources: [RESOURCE],
      },
    ]),
  ]);
  await clients('export --prefix second');
  await clients('import --json', [await write('taken.json', [registered, registered])]);
  await clients('remove other');

  await grant('select on clients');
  await grant('select, insert, update, delete on key_ring');
  await grant('select, insert, update, delete on used_assertions');
  await grant('select, insert, update, delete on revocations');
  await grant('select, insert, update, delete on last_used');
  const service = await startServiceUnderTest({
    environment: {
      CLIENT_REPOSITORY: 'postgres',
      ...SEALED_KEYS,
      DATABASE_URL: role,
      DATABASE_DEADLINE_MS: '30000',
      CLIENT_AUTHENTICATION_METHODS: METHODS,
      CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
      TOKEN_REVOCATION: 'true',
      MANAGEMENT_PORT: String(await freePort()),
      MANAGEMENT_TOKEN: 'a-token-of-an-operator-of-programs',
      KEY_PUBLICATION_SECONDS: '1',
    },
    files: { 'issuers.json': JSON.stringify([issuer.entry()]) },
  });
  await using _stopped = service;
  const ask = async (name: string, form: FormFields) => {
    const response = await requestToken(service.url, { grant_type: 'client_credentials', ...form });
    const token = response.json()['access_token'];
    answers[`token ${name}`] = [response.status, token === undefined ? response.text : decodeJwt(String(token)).sub];
    return String(token);
  };
  const billing = { client_id: 'billing' };
  await until(async () => {
    await ask('secret', { client_id: REGISTERED_CLIENT.clientId, client_secret: REGISTERED_SECRET });
    await ask('identity', { client_assertion_type: JWT_BEARER, client_assertion: issuer.mint(ISSUER) });
    return answers['token secret']?.[0] === 200 && answers['token identity']?.[0] === 200;
  }, 'the key set of the issuer is there, and the key is published');
  const token = await ask('secret of the client', { ...billing, client_secret: SECRET });
  await ask('resource', { ...billing, client_secret: SECRET, resource: RESOURCE });
  await ask('secret with id', { ...billing, client_secret: secretWithId });
  await ask('wrong secret', { ...billing, client_secret: 'wrong' });
  await ask('wrong secret with id', { ...billing, client_secret: `${secretWithId.slice(0, 10)}.wrong` });
  await ask('unknown client', { client_id: 'unknown', client_secret: 'wrong' });
  const now = Math.floor(Date.now() / 1_000);
  const payload = { iss: 'keyed', sub: 'keyed', aud: ISSUER, iat: now, exp: now + 60, jti: 'one' };
  const assertion = compactJws({ alg: 'ES256', kid: 'k' }, payload, KEY.seal);
  await ask('assertion', { client_assertion_type: JWT_BEARER, client_assertion: assertion });
  await ask('replay', { client_assertion_type: JWT_BEARER, client_assertion: assertion });
  const keySet = await send(service.url, '/oauth2/jwks', { headers: { authorization: `Bearer ${token}` } });
  answers['key set'] = [keySet.status];
  for (const path of ['revoke', 'introspect']) {
    const { status, text } = await send(service.url, `/oauth2/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: String(new URLSearchParams({ ...billing, client_secret: SECRET, token })),
    });
    answers[path] = [status, text];
  }

  await until(() => hasSent(/insert into used_assertions .* limit 0/), 'the health of the database was checked');
  answers['keys list'] = [(await runInProcess(manageKeys, ['list'], { DATABASE_URL: role })).exitCode];
  const kid = token.includes('.') ? String(decodeProtectedHeader(token).kid) : 'none';
  answers['keys rotate'] = [(await runInProcess(manageKeys, ['rotate'], { DATABASE_URL: role })).exitCode];
  const revoked = await runInProcess(manageKeys, ['revoke', '--no-wait', '--', kid], { DATABASE_URL: role });
  answers['keys revoke'] = [revoked.exitCode, /The key \S+ is revoked/.test(revoked.stderr)];
  answers['keys revoke --all'] = [
    (await runInProcess(manageKeys, ['revoke', '--no-wait', '--all'], { DATABASE_URL: role })).exitCode,
  ];
  await inspect('after');
  await rm(folder, { recursive: true });
  return answers;
}
