import pg from 'pg';
import { runAt } from './run-at.ts';

/** Runs statements on one connection, which it opens when it needs it, and opens again after it was lost. */
export class KeptConnection {
  readonly #url: string;
  #client: pg.Client | undefined;
  #isBusy = false;

  constructor(url: string) {
    this.#url = url;
  }

  /** Runs one statement. One that comes while another one runs does not wait for it: it gets its own connection. */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    if (this.#isBusy) return runAt(this.#url, text, values);
    this.#isBusy = true;
    try {
      this.#client ??= await this.#connect();
      return (await this.#client.query(text, [...values])).rows;
    } finally {
      this.#isBusy = false;
    }
  }

  async close(): Promise<void> {
    await this.#client?.end();
    this.#client = undefined;
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#url });
    // A test may kill the server.
    client.on('error', () => {});
    client.on('end', () => {
      if (this.#client === client) this.#client = undefined;
    });
    await client.connect();
    return client;
  }
}
