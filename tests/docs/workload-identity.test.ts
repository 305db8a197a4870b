import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readIssuersFile } from '../../adapters/http-client/federated-jwt/read-issuers-file.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { until } from '../support/until.ts';
import { type Platform, WorkloadIssuer } from '../support/workload-issuer.ts';

const PAGE = readFileSync('docs/client-assertions.md', 'utf8');
const AUDIENCE = 'https://auth.example';

const SECTIONS: readonly [Platform['name'], string][] = [
  ['kubernetes', 'Kubernetes'],
  ['github-actions', 'GitHub Actions'],
  ['gitlab', 'GitLab'],
  ['aws', 'AWS'],
  ['spiffe', 'SPIFFE'],
];

function blocksOf(heading: string, language: string): readonly string[] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

describe.each(SECTIONS)('docs/client-assertions.md: the example of %s', (name, heading) => {
  const [issuersJson = '', clientsJson = '', ...otherJson] = blocksOf(heading, 'json');
  const [script = '', ...otherScripts] = blocksOf(heading, 'sh');
  let issuer: WorkloadIssuer;
  let service: ServiceUnderTest;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'workload-identity-'));
    issuer = await WorkloadIssuer.start(name);
    const entries = JSON.parse(issuersJson).map((entry: object) => ({ ...entry, jwks_uri: issuer.keySet.url }));
    service = await startServiceUnderTest({
      environment: {
        CLIENT_AUTHENTICATION_METHODS: 'federated_jwt',
        CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
        TOKEN_ISSUER: AUDIENCE,
      },
      files: { 'issuers.json': JSON.stringify(entries) },
      clients: JSON.parse(clientsJson),
    });
    await until(() => service.logLines().some(({ event }) => event === 'key_set_available'), 'the keys are fetched');
  });
  afterAll(async () => {
    await service.stop();
    await issuer[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  test('has one file of issuers, one of clients and one request', () => {
    expect([otherJson, otherScripts]).toEqual([[], []]);
    expect(readIssuersFile(issuersJson)).toMatchObject({
      ok: true,
      value: [{ preset: name, issuer: issuer.platform.issuer }],
    });
  });

  test('gets a token with the lines of the page', async () => {
    const identity = issuer.mint(AUDIENCE);
    const platform = createServer((request, response) => {
      response.end(JSON.stringify({ value: request.url?.includes(`audience=${AUDIENCE}`) ? identity : 'none' }));
    }).listen(0, '127.0.0.1');
    await writeFile(join(folder, 'token'), identity);
    const tool = async (file: string, output: string) => {
      await writeFile(join(folder, file), `#!/bin/sh\ncase "$*" in *${AUDIENCE}*) echo '${output}';; esac\n`);
      await chmod(join(folder, file), 0o755);
    };
    // jq need not be installed.
    const select = `#!${process.execPath}
      const path = process.argv.at(-1).match(/\\w+/g);
      const value = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
      console.log(path.reduce((inner, step) => inner[step], value));`;
    await writeFile(join(folder, 'jq'), select, { mode: 0o755 });
    await tool('aws', identity);
    await tool('spire-agent', JSON.stringify([{ svids: [{ svid: identity }] }]));
    const lines = script
      .replaceAll(`${AUDIENCE}/oauth2/token`, `${service.url}/oauth2/token`)
      .replace('/var/run/identity', folder);
    const { port } = platform.address() as AddressInfo;
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', lines], {
      env: {
        PATH: `${folder}:${process.env['PATH']}`,
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?x=1`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
        ...(name === 'gitlab' && { IDENTITY: identity }),
      },
    });
    platform.close();
    platform.closeAllConnections();
    expect(JSON.parse(stdout)).toMatchObject({ token_type: 'Bearer', access_token: expect.stringContaining('.') });
  });
});

test('docs/client-assertions.md names the defaults of the settings', () => {
  for (const [setting, value] of [
    ['CLIENT_ASSERTION_MAX_AGE_SECONDS', '3600'],
    ['CLIENT_ASSERTION_KEYS_REFRESH_SECONDS', '60'],
  ] as const) {
    expect(PAGE).toContain(`\`${setting}\` (${value})`);
  }
});
