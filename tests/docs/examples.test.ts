import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { startExampleServer } from '../support/example-server.ts';
import { freePort } from '../support/free-port.ts';
import { send } from '../support/http.ts';
import { readPage } from '../support/page-snippets.ts';
import { runLine } from '../support/program.ts';
import { until } from '../support/until.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

it('examples/README.md starts a service, and gives a client what it needs to call the resource server', async () => {
  const [line = '', exports = ''] = [...readPage('examples/README.md').matchAll(/^```sh\n(.*?)^```$/gms)].map(
    ([, text = '']) => text,
  );
  const port = String(await freePort());
  const issuer = `http://localhost:${port}`;
  const { PATH = '' } = process.env;
  const here = line.replace('npx ccauth serve', 'node ../config/main.ts');
  expect(here).not.toBe(line);
  await using service = runLine(`cd ${EXAMPLES} && ${here}`, { PATH, PORT: port, MANAGEMENT_PORT: '0' });
  await until(() => send(issuer, '/oauth2/jwks').then(Boolean, () => false), 'the service answers');
  await using server = await startExampleServer([process.execPath, 'express-server.js'], `${EXAMPLES}node`, issuer);

  const environment = Object.fromEntries(
    [...exports.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [
      name,
      value.replace('http://localhost:8080', issuer).replace('http://localhost:9000', server.url),
    ]),
  );
  const env = { PATH, ...environment };
  const { stdout } = await promisify(execFile)('node', ['client.js'], { cwd: `${EXAMPLES}node`, env });
  expect([stdout, service.process.exitCode]).toEqual(['200 {"caller":"my-client"}\n', null]);
});
