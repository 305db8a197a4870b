import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { freePort } from './free-port.ts';
import { send } from './http.ts';
import { runProgramOn } from './program.ts';
import { readSamples, total } from './read-samples.ts';
import { until } from './until.ts';

/** The service with a standard output that a test controls, so its start cannot be seen in the log. */
export async function startServiceOn(stdout: number, environment: Readonly<Record<string, string>> = {}) {
  const [port, managementPort] = [await freePort(), await freePort()];
  const child = runProgramOn(stdout, 'config/main.ts', {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: 'config/demo/clients.json',
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_GRACE_MS: '0',
    ...environment,
  });
  const managementUrl = `http://127.0.0.1:${managementPort}`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error('the service has ended');
    return (await send(managementUrl, '/readyz').catch(() => undefined))?.status === 200;
  }, 'the service is ready');

  return {
    child,
    url: `http://127.0.0.1:${port}`,
    managementUrl,
    linesLost: async () =>
      total(readSamples((await send(managementUrl, '/metrics')).text), 'auth_log_lines_lost_total'),
    /** Resolves when the check `log` of /readyz has this note with a fix, or neither. */
    untilNote: (note: string | undefined) =>
      until(async () => {
        const response = await send(managementUrl, '/readyz');
        if (response.status !== 200) throw new Error(response.text);
        const checks = response.json()['checks'] as { name: string; ready: boolean; note?: string; fix?: string }[];
        const found = checks.filter(({ name }) => name === 'log');
        return isDeepStrictEqual(
          found.map((check) => [check.ready, check.note, check.fix !== undefined]),
          [[true, note, note !== undefined]],
        );
      }, `the note of /readyz is ${note}`),
    /** Sends SIGTERM. Resolves with the exit code. */
    async terminate(): Promise<number | null> {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const [code] = await ended;
      return code;
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
