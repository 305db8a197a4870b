import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../tests/support/free-port.ts';
import { getAccessToken } from '../../tests/support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest } from '../../tests/support/running-service.ts';
import { until } from '../../tests/support/until.ts';
import { startServiceForClients } from './client-snippet.ts';
import { type InstalledProject, installProject, type Project, run } from './installed-project.ts';
import { OPENID_GO, OPENID_RUST, QUARKUS } from './projects.ts';

let service: ServiceUnderTest;
beforeAll(async () => {
  service = await startServiceForClients({ SERVICE_PROFILE: 'standard', TOKEN_AUDIENCE: 'https://api.example.com' });
});
afterAll(() => service.stop());

/** Installs the project for its tests. Undefined if its tools are not there. */
function projectOf(project: Project): () => InstalledProject | undefined {
  let installed: InstalledProject | undefined;
  beforeAll(async () => {
    installed = await installProject(project);
  });
  afterAll(async () => {
    await installed?.[Symbol.asyncDispose]();
  });
  return () => installed;
}

const token = () => getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);

describe('go-oidc', () => {
  const project = projectOf(OPENID_GO);

  it('finds the keys with NewProvider, and verifies a token', async () => {
    const { folder } = project() ?? {};
    if (folder === undefined) return;
    const { output } = await run(['go', 'run', '.', service.url, await token()], folder);
    expect(output).toContain(`token of ${GOOD_CLIENT.client_id}`);
  });
});

describe('Rust openidconnect', () => {
  const project = projectOf(OPENID_RUST);

  it('finds the token endpoint, and gets a token', async () => {
    const { folder } = project() ?? {};
    if (folder === undefined) return;
    const client = [GOOD_CLIENT.client_id, GOOD_SECRET] as const;
    const { output } = await run(['cargo', 'run', '--quiet', '--', service.url, ...client], folder);
    expect(output).toContain('token for Some([Scope("read")])');
  });
});

describe('Quarkus', () => {
  const project = projectOf(QUARKUS);

  it('finds both, gets a token and verifies it', async () => {
    const { folder } = project() ?? {};
    if (folder === undefined) return;
    const port = await freePort();
    const settings = {
      'quarkus.http.host': '127.0.0.1',
      'quarkus.http.port': port,
      'quarkus.oidc.auth-server-url': service.url,
      'quarkus.oidc-client.auth-server-url': service.url,
      'quarkus.oidc-client.client-id': GOOD_CLIENT.client_id,
      'quarkus.oidc-client.credentials.client-secret.value': GOOD_SECRET,
      'quarkus.oidc-client.credentials.client-secret.method': 'post',
    };
    const options = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`);
    const application = spawn('java', [...options, '-jar', 'target/quarkus-app/quarkus-run.jar'], { cwd: folder });
    let output = '';
    for (const stream of [application.stdout, application.stderr]) stream.on('data', (text) => (output += text));
    const ended = once(application, 'exit');
    try {
      await until(() => output.includes('Listening on') || application.exitCode !== null, 'it listens', 120_000);
      const own = await (await fetch(`http://127.0.0.1:${port}/token`)).text();
      const headers = { authorization: `Bearer ${own}` };
      const response = await fetch(`http://127.0.0.1:${port}/things`, { headers });
      expect([response.status, await response.text()]).toEqual([200, GOOD_CLIENT.client_id]);
    } finally {
      application.kill();
      await ended;
    }
  });
});
