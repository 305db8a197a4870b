import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { readPage, snippetsOf, writeFiles } from '../../tests/support/page-snippets.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../tests/support/running-service.ts';

const PAGE = readPage('docs/contracts.md');
const CLIENT = snippetsOf(PAGE).get('client.ts') ?? '';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What the compiler says about a file. */
function errorsOf(file: string): readonly string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(
    { ...config.compilerOptions, lib: ['es2025', 'dom', 'dom.iterable'], types: [] },
    ROOT,
  );
  const program = ts.createProgram([file], options);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

describe('docs/contracts.md', () => {
  let service: ServiceUnderTest;
  let written: { folder: string } & AsyncDisposable;
  const path = (name: string) => join(written.folder, name);
  beforeAll(async () => {
    service = await startServiceUnderTest();
    const client = CLIENT.replace('https://auth.example.com', service.url);
    const wrong = `${client}\nexport const city: number = await getCity('x');\nvoid getToken({ grant: 'x' });\n`;
    // In this folder, files find the packages of the project.
    const folder = fileURLToPath(new URL(`client-${randomUUID()}/`, import.meta.url));
    const files = new Map([
      ['client.ts', client],
      ['wrong.ts', wrong],
    ]);
    written = await writeFiles(folder, files);
    const [, command = ''] = /^```sh\nnpx (openapi-typescript .*)\n```$/m.exec(PAGE) ?? [];
    const line = command.replace('service.d.ts', path('service.d.ts'));
    await promisify(execFile)('bash', ['-c', `lab/node_modules/.bin/${line}`], { cwd: ROOT });
  });
  afterAll(async () => {
    await service.stop();
    await written[Symbol.asyncDispose]();
  });

  it('shows a client that compiles with generated types', () => {
    expect(errorsOf(path('client.ts'))).toEqual([]);
  });

  it('shows a client that does not compile if it uses the API in another way', () => {
    expect(errorsOf(path('wrong.ts'))).toEqual([
      expect.stringContaining("Type 'string | undefined' is not assignable to type 'number'"),
      expect.stringContaining("'grant' does not exist"),
    ]);
  });

  it('shows a client that gets a token, which opens a resource', async () => {
    const { getToken, getCity } = await import(path('client.ts'));
    const credentials = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id };
    const token = await getToken({ ...credentials, client_secret: GOOD_SECRET });
    expect(await getCity(token)).toBe('New York City');
    await expect(getToken({ ...credentials, client_secret: 'wrong-secret' })).rejects.toThrow('invalid_client');
  });
});
