import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { freePort } from '../support/free-port.ts';
import { ADMIN_API_DOCUMENT } from '../support/generate-admin-api.ts';
import { blocksOf, readPage } from '../support/page-snippets.ts';
import { runLine } from '../support/program.ts';

const PAGE = readPage('docs/admin-api.md');
const FILES = ['clients.db', 'portal-secret.txt', 'key-secret.txt', 'first.json'];

describe('docs/admin-api.md', () => {
  it('shows how a client is created, gets a secret and a token, is changed, rotated and retired', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'admin-api-'));
    const [port, managementPort] = [await freePort(), await freePort()];
    const here = (text: string) =>
      FILES.reduce((line, file) => line.replaceAll(file, join(folder, file)), text)
        .replace('SERVICE=http://localhost:8080', `SERVICE=http://127.0.0.1:${port}`)
        .replace('127.0.0.1:8081', `127.0.0.1:${managementPort}`);
    const [start = '', ...steps] = blocksOf(PAGE, 'sh', 'Try it').map(here);
    const settings = { BASE_URL: 'http://localhost:8080', SHUTDOWN_GRACE_MS: '0' };
    await using service = runLine(start, { PORT: String(port), MANAGEMENT_PORT: String(managementPort), ...settings });
    await service.printed(/"event":"started"/);
    const script = ['set -e', ...steps].join('\necho; echo ---\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', script]);
    const [, , created = '', handedOver = '', changed = '', rotated = '', retired = ''] = stdout.split('---\n');
    expect(created).toMatch(/^HTTP\/1\.1 201 Created[\s\S]+^ETag: "[\w-]{43}"[\s\S]+"client_id":"billing"/im);
    expect(handedOver).toMatch(/"client_secret":"[\w-]{10}\.\w{43}"[\s\S]+"access_token":"eyJ/);
    expect(changed).toContain('"token_lifetime_seconds":120');
    expect(rotated).toMatch(/"name":"second"[^\n]*\n+$/);
    expect(retired.trim()).toMatch(/^\{[^\n]*"state":"disabled"[^\n]*\}$/);
    await rm(folder, { recursive: true });
  });
});

describe('docs/admin-api.openapi.json', () => {
  it('has the schema that a document is read by', () => {
    const validate = addFormats
      .default(new Ajv2020({ strict: false }))
      .compile(ADMIN_API_DOCUMENT.components.schemas.Client);
    const base = { client_name: 'Billing', scope: 'read' };
    expect(validate({ ...base, resources: ['urn:a', { resource: 'urn:b', scope: 'x' }], jwks: { keys: [] } })).toBe(
      true,
    );
    for (const wrong of [
      { ...base, unknown: 1 },
      { ...base, resources: [1] },
      { ...base, secrets: {} },
      { scope: 'a' },
    ]) {
      expect(validate(wrong)).toBe(false);
    }
  });
});
