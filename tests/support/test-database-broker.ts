import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestDatabaseSource } from './test-database-source.ts';

/** Environment variable with the URL from which a test gets the database server. */
export const BROKER_VARIABLE = 'TEST_DATABASE_BROKER';

/**
 * Runs in Jest's main process and answers its workers: the first test that needs a database starts the server, later
 * tests share it, and a run without such a test starts none.
 */
export class TestDatabaseBroker {
  readonly #server: Server;
  #source: Promise<TestDatabaseSource> | undefined;

  constructor() {
    // Only the caller closes an idle connection. Otherwise it could close just when the next request is sent.
    this.#server = createServer({ keepAliveTimeout: 0 }, (_request, response) => {
      this.#source ??= startAndSay();
      this.#source.then(
        ({ url }) => response.end(url),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    process.env[BROKER_VARIABLE] = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    const source = await this.#source?.catch(() => undefined);
    await source?.stop();
  }
}

async function startAndSay(): Promise<TestDatabaseSource> {
  // Loaded here: Testcontainers takes a second to load, before the first test of a run that needs no database.
  const { startTestDatabaseSource } = await import('./test-database-source.ts');
  const source = await startTestDatabaseSource();
  process.stderr.write(`Test database: ${source.name}\n`);
  return source;
}
