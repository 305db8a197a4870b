import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateSigningKey } from '../../tests/support/assertions.ts';
import { readPage } from '../../tests/support/page-snippets.ts';
import type { ServiceUnderTest } from '../../tests/support/running-service.ts';
import { startServiceForClients } from './client-snippet.ts';
import {
  type Command,
  type InstalledProject,
  installProject,
  type Project,
  type Run,
  run,
} from './installed-project.ts';
import { NIMBUS, PYTHON_KEYS, SPRING } from './projects.ts';

const KEY = generateSigningKey('ES256');

/** A file of examples/snippets/keys, and how it is run. */
interface KeyClient {
  readonly file: string;
  readonly project: Project;
  readonly path: string;
  readonly command: Command;
  /** What sets `aud` to the issuer, and what is there by default. */
  readonly audience: readonly [shown: string, byDefault: string];
}

const java = (project: typeof SPRING, name: string, audience: KeyClient['audience']): KeyClient => ({
  file: `${name}.java`,
  project,
  path: `src/main/java/example/${name}.java`,
  command: [...project.compile, `-Dexec.mainClass=example.${name}`],
  audience,
});
const python = (file: string, audience: KeyClient['audience']): KeyClient => ({
  file,
  project: PYTHON_KEYS,
  path: file,
  command: ['venv/bin/python', file],
  audience,
});

const CLIENTS: readonly KeyClient[] = [
  python('authlib_client.py', ['PrivateKeyJWT("ISSUER"', 'PrivateKeyJWT("ISSUER/oauth2/token"']),
  python('requests_oauth2client_client.py', [', aud="ISSUER")', ')']),
  java(NIMBUS, 'NimbusClient', ['URI.create("ISSUER"),', 'URI.create("ISSUER/oauth2/token"),']),
  java(SPRING, 'SpringClient', ['.audience(List.of("ISSUER"))', '.audience(List.of("ISSUER/oauth2/token"))']),
];

let service: ServiceUnderTest;
beforeAll(async () => {
  service = await startServiceForClients(
    {
      CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt',
      // Authlib's assertions are valid for an hour.
      CLIENT_ASSERTION_MAX_LIFETIME_SECONDS: '3600',
    },
    [
      {
        client_id: 'my-client',
        client_name: 'A client without a secret',
        scope: 'read',
        resources: ['https://api.example.com'],
        jwks: { keys: [{ ...KEY.jwk, kid: 'the-key', alg: 'ES256' }] },
      },
    ],
  );
});
afterAll(() => service.stop());

describe.each(CLIENTS)('$file', (client) => {
  let installed: InstalledProject | undefined;
  beforeAll(async () => {
    installed = await installProject(client.project);
  });
  afterAll(async () => {
    await installed?.[Symbol.asyncDispose]();
  });

  async function runWith(variant: 'as shown' | 'by default'): Promise<Run | undefined> {
    if (installed === undefined) return undefined;
    const [shown, byDefault] = client.audience.map((text) => text.replace('ISSUER', 'https://auth.example.com'));
    const text = readPage(`examples/snippets/keys/${client.file}`);
    expect(text).toContain(shown);
    const code = (variant === 'as shown' ? text : text.replace(shown ?? '', byDefault ?? ''))
      .replaceAll('https://auth.example.com', service.url)
      // Only for this one: it refuses http.
      .replace('OAuth2Client(\n', 'OAuth2Client(\n    testing=True,\n    token_endpoint=');
    const path = join(installed.folder, client.path);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, code);
    await writeFile(
      join(installed.folder, 'private.jwk'),
      JSON.stringify({ ...KEY.privateKey.export({ format: 'jwk' }), kid: 'the-key', alg: 'ES256' }),
    );
    return run(client.command, installed.folder);
  }

  it('gets a token with a scope, for a resource', async () => {
    const ran = await runWith('as shown');
    if (ran !== undefined) expect(ran.output).toMatch(/token for \[?read/);
  });

  it('is told what to change if it sends the URL of the token endpoint as the audience', async () => {
    const ran = await runWith('by default');
    if (ran !== undefined) expect(ran.output).toMatch(/aud of the assertion has to be http:/);
  });
});
