import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TokenSigner } from '../../application/token-signer.ts';
import { EXAMPLE_PROFILE, startExampleServer } from '../../tests/support/example-server.ts';
import { freePort } from '../../tests/support/free-port.ts';
import { freshKeyRing } from '../../tests/support/fresh-key-ring.ts';
import { getAccessToken, send } from '../../tests/support/http.ts';
import { readPage } from '../../tests/support/page-snippets.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest } from '../../tests/support/running-service.ts';
import { exampleEnvironment, startServiceForClients } from './client-snippet.ts';
import { type Command, type InstalledProject, installProject, type Project, run } from './installed-project.ts';
import { GO_EXAMPLE, NODE_EXAMPLE, PYTHON_EXAMPLE, SPRING, SPRING_SERVER } from './projects.ts';

const README = readPage('examples/README.md');

interface Example {
  readonly name: string;
  readonly client: readonly [Project, Command];
  readonly server: readonly [Project, Command];
  /** Its response to a token while the issuer is away. */
  readonly away: number | 'does not start';
}

const MAVEN: Command = ['mvn', '-q', '-B', 'spring-boot:run'];

/** As examples/README.md runs them. */
const EXAMPLES: readonly Example[] = [
  {
    name: 'Express',
    client: [NODE_EXAMPLE, ['node', 'client.js']],
    server: [NODE_EXAMPLE, ['node', 'express-server.js']],
    away: 503,
  },
  {
    name: 'Fastify',
    client: [NODE_EXAMPLE, ['node', 'client.js']],
    server: [NODE_EXAMPLE, ['node', 'fastify-server.js']],
    away: 503,
  },
  {
    name: 'Go',
    client: [GO_EXAMPLE, ['go', 'run', './client']],
    server: [GO_EXAMPLE, ['go', 'run', './server']],
    away: 'does not start',
  },
  {
    name: 'Python',
    client: [PYTHON_EXAMPLE, ['venv/bin/python', 'client.py']],
    server: [PYTHON_EXAMPLE, ['venv/bin/python', 'server.py']],
    away: 503,
  },
  { name: 'Spring', client: [SPRING, MAVEN], server: [SPRING_SERVER, MAVEN], away: 500 },
];

let service: ServiceUnderTest;
beforeAll(async () => {
  service = await startServiceForClients(EXAMPLE_PROFILE);
});
afterAll(() => service.stop());

/** Says on standard error why a project is skipped. */
const installed = new Map<Project, Promise<InstalledProject | undefined>>();
function install(project: Project): Promise<InstalledProject | undefined> {
  const found = installed.get(project) ?? installProject(project);
  installed.set(project, found);
  return found;
}
afterAll(async () => {
  for (const project of installed.values()) await (await project)?.[Symbol.asyncDispose]();
});

describe.each(EXAMPLES)('$name', ({ name, client, server, away }) => {
  it('has a row in examples/README.md', () => {
    const [row = ''] = README.match(new RegExp(`^\\| ${name}\\b.*$`, 'm')) ?? [];
    for (const [, command] of [client, server])
      expect(row).toContain(
        command
          .filter((word) => word !== '-B')
          .join(' ')
          .replace('mvn -q', 'mvn'),
      );
  });

  it('serves its own client, and refuses everybody else as RFC 6750 says', async () => {
    const [calling, serving] = [await install(client[0]), await install(server[0])];
    if (calling === undefined || serving === undefined) return;
    await using started = await startExampleServer(server[1], serving.folder, service.url);
    const url = `${started.url}/things`;
    const { output } = await run(client[1], calling.folder, { ...exampleEnvironment(service.url), API_URL: url });
    expect(output).toContain(`{"caller":"${GOOD_CLIENT.client_id}"}`);

    const ask = async (authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization };
      const response = await send(started.url, '/things', { headers });
      return [response.status, response.headers['www-authenticate']];
    };
    const token = (scope: string) => getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET, { scope });
    const { exp, ...claims } = JSON.parse(
      Buffer.from((await token('read')).split('.')[1] ?? '', 'base64url').toString(),
    );
    const foreign = await new TokenSigner(await freshKeyRing(), 'at+jwt').sign({ ...claims, exp });
    expect(await ask()).toEqual([401, expect.stringMatching(/^Bearer/)]);
    expect(await ask('Bearer no-token')).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    expect(await ask(`Bearer ${foreign}`)).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    expect(await ask(`Bearer ${await token('write')}`)).toEqual([403, expect.stringContaining('insufficient_scope')]);
    expect(await ask(`Bearer ${await token('read')}`)).toEqual([200, undefined]);
  });

  it('does not take a good token for a bad one while the issuer is away', async () => {
    const serving = await install(server[0]);
    if (serving === undefined) return;
    const nobody = `http://127.0.0.1:${await freePort()}`;
    const starting = startExampleServer(server[1], serving.folder, nobody);
    if (away === 'does not start') return expect(starting).rejects.toThrow('has ended');
    await using started = await starting;
    const authorization = `Bearer ${await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET)}`;
    expect((await send(started.url, '/things', { headers: { authorization } })).status).toBe(away);
  });
});
