import { FetchServer, type RequestSource } from '../adapters/fetch/fetch-server.ts';
import { BODY_MAX_BYTES } from '../adapters/http/parsing/form.ts';
import { createApplication } from '../adapters/http/server/koa-application.ts';
import { nodeProblem } from '../adapters/system/program-version.ts';
import { inWords } from '../domain/problem.ts';
import { linesTo } from './lines-to.ts';
import { startFromEnvironment } from './service.ts';
import type { Environment } from './settings/read-environment.ts';

/** The service without its own server. */
export interface FetchService {
  /**
   * Answers a request of the Web standard. While the service is open, rejects only with a TypeError: a body that was
   * read before, or a `remoteAddress` that is no IP address.
   */
  fetch(request: Request, source?: RequestSource): Promise<Response>;
  /** Finishes the requests in progress, and closes what is open. */
  close(): Promise<void>;
}

/**
 * Opens the service as a function, for a web server or runtime that has Request and Response:
 * `client-credentials-authorization-service/fetch`. BASE_URL is required. The management port is opened only if
 * MANAGEMENT_PORT is set; HOST, PORT and TLS have no effect.
 *
 * @param settings as for the service. Of `process.env`, only UV_THREADPOOL_SIZE is read: the work in libuv's pool has
 * to fit the pool.
 * @param writeLog gets each line of the log, with its line feed. A line for which it throws is lost. By default they
 * are on standard output.
 * @throws Error with every problem of the settings, or that Node.js is too old.
 */
export async function openFetchService(
  settings: Environment,
  writeLog?: (line: string) => void,
): Promise<FetchService> {
  const oldNode = nodeProblem();
  if (oldNode !== undefined) throw new Error(oldNode);
  const opened: { server?: FetchServer } = {};
  const MANAGEMENT_PORT = settings['MANAGEMENT_PORT'] || '0';
  const environment = { ...settings, MANAGEMENT_PORT, HOST: '127.0.0.1', PORT: '0' };
  const started = await startFromEnvironment(environment, {
    lines: writeLog && linesTo(writeLog),
    createServer(parts) {
      const handle = createApplication(parts).callback();
      opened.server = new FetchServer({ handle, requestMs: parts.timeouts.requestMs, bodyMaxBytes: BODY_MAX_BYTES });
      return opened.server;
    },
  });
  if (!started.ok) throw new Error(started.problem.map(inWords).join('\n'));
  const { server } = opened;
  if (server === undefined) throw new Error('the service has not started');
  return {
    fetch: (request, source) => server.fetch(request, source),
    close: () => started.value.stop('immediate'),
  };
}
