import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readPage, snippetsOf } from '../../tests/support/page-snippets.ts';
import { GOOD_CLIENT, type ServiceUnderTest } from '../../tests/support/running-service.ts';
import {
  type ClientSnippet,
  codeFor,
  exampleEnvironment,
  knowsOnlyBasic,
  STANDARD,
  startServiceForClients,
} from './client-snippet.ts';
import {
  type Command,
  type InstalledProject,
  installProject,
  type Project,
  type Run,
  run,
} from './installed-project.ts';
import { GO_EXAMPLE, KAFKA, NODE, PYTHON, RUBY, RUST_CLIENT, SPRING } from './projects.ts';

const PAGE = readPage('docs/getting-a-token.md');
const SNIPPETS = snippetsOf(PAGE);
const DESCRIPTION =
  'send client_id and client_secret in the body, without an Authorization header, or have the operator add client_secret_basic to CLIENT_AUTHENTICATION_METHODS';

/** A client, and how its snippet is run in a project. */
interface RunnableClient extends ClientSnippet {
  /** Where the project expects the snippet. */
  readonly path: string;
  /** Files of the page that stand beside it. */
  readonly beside?: Readonly<Record<string, string>>;
  readonly command: (url: string) => Command;
  /** Other changes that the page names, to the code for a service on loopback. */
  readonly changes?: readonly (readonly [shown: RegExp, instead: string])[];
  /** What it prints if it got a token. */
  readonly prints?: string;
}

const python = (file: string, more: Partial<RunnableClient>): RunnableClient => ({
  file,
  path: file,
  command: () => ['venv/bin/python', file],
  ...more,
});

const METHOD_OF_AUTHLIB = ['    token_endpoint_auth_method="client_secret_post",\n', ''] as const;

const PYTHON_CLIENTS: readonly RunnableClient[] = [
  python('requests_oauthlib_client.py', {
    setting: [', include_client_id=True', ''],
    error: DESCRIPTION,
  }),
  python('python/client.py', {
    path: 'client.py',
    command: () => ['venv/bin/python', 'client.py'],
    setting: METHOD_OF_AUTHLIB,
    error: DESCRIPTION,
  }),
  python('authlib_httpx.py', { setting: METHOD_OF_AUTHLIB, error: DESCRIPTION }),
  python('authlib_flask.py', {
    setting: ['    client_kwargs={"token_endpoint_auth_method": "client_secret_post"},\n', ''],
    error: DESCRIPTION,
  }),
  python('httpx_auth_client.py', { error: DESCRIPTION }),
];

const SPRING_FILES: RunnableClient = {
  file: 'spring/application.yaml',
  path: 'src/main/resources/application.yaml',
  beside: { 'spring/ThingsClient.java': 'src/main/java/example/ThingsClient.java' },
  command: () => [...SPRING.compile, '-Dexec.mainClass=example.ThingsClient'],
};

const SPRING_CLIENT: RunnableClient = {
  ...SPRING_FILES,
  setting: ['            client-authentication-method: client_secret_post\n', ''],
  error: '401 Unauthorized: [no body]',
};

/** With `issuer-uri` alone, Spring reads the method from the metadata. */
const SPRING_CLIENT_WITH_ISSUER: RunnableClient = {
  ...SPRING_FILES,
  changes: [
    [/ +client-authentication-method: .*\n/, ''],
    [/token-uri: (.*)\/oauth2\/token/, 'issuer-uri: $1'],
  ],
};

const kafka = (name: string, more: Partial<RunnableClient>): RunnableClient => ({
  file: `kafka/${name}.properties`,
  path: `${name}.properties`,
  prints: `token of ${GOOD_CLIENT.client_id}`,
  error: DESCRIPTION,
  command: (url) => [
    ...KAFKA.compile,
    '-Dexec.mainClass=example.Login',
    `-Dexec.args=${name}.properties`,
    `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${url}/oauth2/token`,
  ],
  ...more,
});

const CLIENTS: readonly (readonly [Project, readonly RunnableClient[]])[] = [
  [PYTHON, PYTHON_CLIENTS],
  [
    GO_EXAMPLE,
    [
      {
        file: 'go/client/main.go',
        path: 'client/main.go',
        setting: ['oauth2.AuthStyleInParams', 'oauth2.AuthStyleAutoDetect'],
        command: () => ['go', 'run', './client'],
      },
    ],
  ],
  [
    RUST_CLIENT,
    [
      {
        file: 'rust-oauth2/src/main.rs',
        path: 'src/main.rs',
        setting: ['.set_auth_type(AuthType::RequestBody)', '.set_auth_type(AuthType::BasicAuth)'],
        error: DESCRIPTION,
        command: () => ['cargo', 'run', '--quiet'],
      },
    ],
  ],
  [SPRING, [SPRING_CLIENT, SPRING_CLIENT_WITH_ISSUER]],
  [KAFKA, [kafka('kafka', {}), kafka('strimzi', {})]],
  [
    NODE,
    [
      {
        file: 'client-oauth2.js',
        path: 'client-oauth2.js',
        error: 'Client authentication failed',
        command: () => ['node', 'client-oauth2.js'],
      },
    ],
  ],
  [
    RUBY,
    [
      {
        file: 'oauth2_client.rb',
        path: 'oauth2_client.rb',
        command: () => ['ruby', 'oauth2_client.rb'],
      },
    ],
  ],
];

let byDefault: ServiceUnderTest;
let standard: ServiceUnderTest;
beforeAll(async () => {
  byDefault = await startServiceForClients();
  standard = await startServiceForClients(STANDARD);
});
afterAll(() => Promise.all([byDefault, standard].map((service) => service.stop())));

type Variant = Parameters<typeof codeFor>[3];

/** Writes the code of a client into its project, and runs it. */
async function runClient(
  { folder }: InstalledProject,
  client: RunnableClient,
  url: string,
  variant?: Variant,
): Promise<Run> {
  const beside = Object.entries(client.beside ?? {}).map(([file, path]) => [path, codeFor(SNIPPETS, { file }, url)]);
  const shown = codeFor(SNIPPETS, client, url, variant);
  const code = (client.changes ?? []).reduce((text, [from, to]) => text.replace(from, to), shown);
  const files = [[client.path, code], ...beside];
  for (const [path = '', text = ''] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return run(client.command(url), folder, exampleEnvironment(url));
}

const expectToken = ({ output }: Run, { prints = 'New York City' }: RunnableClient) => expect(output).toContain(prints);

it('runs all snippets with a file name, except for those of npm test and those that have never run', () => {
  const files = CLIENTS.flatMap(([, clients]) =>
    clients.flatMap(({ file, beside = {} }) => [file, ...Object.keys(beside)]),
  );
  const ofNode = [...SNIPPETS.keys()].filter((file) => file.endsWith('.js') && file !== 'client-oauth2.js');
  const shown = [...SNIPPETS.keys()].filter((file) => !file.startsWith('not-run/'));
  expect([...new Set([...files, ...ofNode])].toSorted()).toEqual(shown.toSorted());
});

for (const [project, clients] of CLIENTS) {
  // Declared before it is known whether the project can be installed: a skipped one says so on standard error.
  describe(project.name, () => {
    let installed: InstalledProject | undefined;
    beforeAll(async () => {
      installed = await installProject(project);
    });
    afterAll(async () => {
      await installed?.[Symbol.asyncDispose]();
    });

    for (const client of clients) {
      const named = client.changes === undefined ? client.file : `${client.file}, changed as the page says`;

      it(`${named}: gets a token`, async () => {
        if (installed === undefined) return;
        const service = knowsOnlyBasic(client) ? standard : byDefault;
        expectToken(await runClient(installed, client, service.url), client);
      });

      if (client.error !== undefined) {
        it(`${named}: shows the error that the page names`, async () => {
          if (installed === undefined) return;
          expect(PAGE).toContain(client.error);
          const { output } = await runClient(installed, client, byDefault.url, 'without its setting');
          expect(output).toContain(client.error);
        });
      }

      if (!knowsOnlyBasic(client)) {
        it(`${named}: needs no setting with SERVICE_PROFILE=standard`, async () => {
          if (installed === undefined) return;
          expectToken(await runClient(installed, client, standard.url, 'without its setting'), client);
        });
      }
    }
  });
}
