import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend } from '../support/balancer.ts';
import { freePort } from '../support/free-port.ts';
import { send } from '../support/http.ts';
import { followProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

/** Whether HAProxy is installed here. */
export const HAS_HAPROXY = spawnSync('haproxy', ['-v']).status === 0;

/**
 * HAProxy in front of replicas, as docs/operate.md shows it: token requests follow /readyz, and reach all replicas
 * while none is ready; all other paths follow /readyz/verification.
 */
export async function startHaproxy(
  backends: readonly Backend[],
  verification: '/readyz/verification' | '/readyz' = '/readyz/verification',
): Promise<AsyncDisposable & { readonly url: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'haproxy-'));
  const [port, file] = [await freePort(), join(folder, 'haproxy.cfg')];
  const servers = (options: (backend: Backend) => string) =>
    backends.map((backend, index) => `  server s${index} 127.0.0.1:${backend.port} ${options(backend)}`).join('\n');
  const checked = servers(({ managementPort }) => `check port ${managementPort} inter 200ms rise 2 fall 2`);
  await writeFile(
    file,
    `defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
  timeout check 10s
  option redispatch 1
frontend public
  bind 127.0.0.1:${port}
  use_backend verification if !{ path /oauth2/token }
  use_backend unchecked if { nbsrv(tokens) eq 0 }
  default_backend tokens
backend tokens
  option httpchk GET /readyz
${checked}
backend unchecked
${servers(() => '')}
backend verification
  option httpchk GET ${verification}
${checked}
`,
  );
  const program = followProgram(spawn('haproxy', ['-db', '-f', file]));
  const url = `http://127.0.0.1:${port}`;
  await until(
    () =>
      send(url, '/oauth2/jwks').then(
        ({ status }) => status === 200,
        () => false,
      ),
    'HAProxy answers',
  );
  return {
    url,
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}
