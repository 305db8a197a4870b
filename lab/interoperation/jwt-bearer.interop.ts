import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateSigningKey } from '../../tests/support/assertions.ts';
import { readPage } from '../../tests/support/page-snippets.ts';
import type { ServiceUnderTest } from '../../tests/support/running-service.ts';
import { startServiceForClients } from './client-snippet.ts';
import { type Command, type InstalledProject, installProject, type Project, run } from './installed-project.ts';
import { GO_BEARER, PYTHON_KEYS } from './projects.ts';

const KEY = generateSigningKey('RS256');
const CLIENT = 'my-client';

/** A tool with a key that knows no other grant, and the file of examples/snippets/keys with its settings. */
interface Tool {
  readonly name: string;
  readonly project: Project;
  readonly file: string;
  readonly path: string;
  readonly command: Command;
}

const go = (name: string, argument: string): Tool => ({
  name,
  project: GO_BEARER,
  file: 'jwt_bearer.go',
  path: 'main.go',
  command: ['go', 'run', '.', argument],
});

const TOOLS: readonly Tool[] = [
  go('golang.org/x/oauth2/jwt', 'x-oauth2'),
  go('the HTTP client of Prometheus', 'prometheus'),
  go('zitadel/oidc', 'zitadel'),
  {
    name: 'librdkafka',
    project: PYTHON_KEYS,
    file: 'librdkafka_client.py',
    path: 'librdkafka_client.py',
    command: ['venv/bin/python', 'librdkafka_client.py'],
  },
];

let service: ServiceUnderTest;
beforeAll(async () => {
  service = await startServiceForClients(
    {
      GRANT_TYPES: 'client_credentials,jwt-bearer',
      TOKEN_AUDIENCE: 'https://api.example.com',
      EXAMPLE_RESOURCE: 'true',
    },
    [
      {
        client_id: CLIENT,
        client_name: 'A client without a secret',
        scope: 'read write',
        jwks: { keys: [{ ...KEY.jwk, kid: 'the-key', alg: 'RS256' }] },
      },
    ],
  );
});
afterAll(() => service.stop());

describe.each(TOOLS)('$name with the grant jwt-bearer', ({ project, file, path, command }) => {
  let installed: InstalledProject | undefined;
  beforeAll(async () => {
    installed = await installProject(project);
  });
  afterAll(async () => {
    await installed?.[Symbol.asyncDispose]();
  });

  it('gets a token', async () => {
    if (installed === undefined) return;
    const code = readPage(`examples/snippets/keys/${file}`).replaceAll('https://auth.example.com', service.url);
    await writeFile(join(installed.folder, path), code);
    const key = KEY.privateKey.export({ format: 'pem', type: 'pkcs8' });
    await writeFile(join(installed.folder, 'private.pem'), key);
    const issued = () => service.logLines().filter(({ event }) => event === 'token_issued').length;
    const before = issued();
    const { output } = await run(command, installed.folder, { API_URL: `${service.url}/v1/locations/NYC_USA` });
    expect({ output, issued: issued() - before }).toMatchObject({ issued: 1 });
    expect(service.logLines().findLast(({ event }) => event === 'token_issued')).toMatchObject({
      client_id: CLIENT,
      grant: 'jwt-bearer',
      scope: 'read',
    });
    // librdkafka shows its token to brokers alone.
    if (project === GO_BEARER) expect(output).toContain('New York City');
  });
});
