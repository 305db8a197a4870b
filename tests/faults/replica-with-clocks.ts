import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getAccessToken, type HttpResponse, requestToken, send } from '../support/http.ts';
import type { Program } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

const MODULE = pathToFileURL(`${import.meta.dirname}/shifted-clocks.ts`).href;

/** A replica in a separate process, or in several, whose clocks a test can shift. */
export class ReplicaWithClocks implements AsyncDisposable {
  readonly program: Program;
  readonly url: string;
  readonly managementUrl: string;
  readonly #folder: string;

  private constructor(program: Program, port: number, managementPort: number, folder: string) {
    this.program = program;
    this.url = `http://127.0.0.1:${port}`;
    this.managementUrl = `http://127.0.0.1:${managementPort}`;
    this.#folder = folder;
  }

  static async start(settings: Readonly<Record<string, string>>, wallSeconds = 0): Promise<ReplicaWithClocks> {
    const folder = mkdtempSync(join(tmpdir(), 'clocks-'));
    const backend = await freeBackend();
    writeShift(folder, { wallSeconds });
    const program = startReplica(backend, {
      BASE_URL: 'http://issuer.test',
      PUBLIC_METADATA: 'true',
      SHUTDOWN_GRACE_MS: '0',
      NODE_OPTIONS: `--import ${MODULE}`,
      SHIFTED_CLOCKS_FILE: join(folder, 'shift.json'),
      ...settings,
    });
    return new ReplicaWithClocks(program, backend.port, backend.managementPort, folder);
  }

  shift(shift: { readonly wallSeconds?: number; readonly monotonicSeconds?: number }): void {
    writeShift(this.#folder, shift);
  }

  async untilReady(): Promise<void> {
    const isReady = () =>
      this.readiness().then(
        ({ status }) => status === 200,
        () => false,
      );
    await until(isReady, 'the replica is ready');
  }

  readiness(): Promise<HttpResponse> {
    return send(this.managementUrl, '/readyz');
  }

  askToken(): Promise<HttpResponse> {
    return requestToken(this.url, DEMO_TOKEN_REQUEST);
  }

  getToken(): Promise<string> {
    return getAccessToken(this.url, DEMO_TOKEN_REQUEST.client_id, DEMO_TOKEN_REQUEST.client_secret);
  }

  /** The status of a request with this token. */
  async use(token: string): Promise<number> {
    const headers = { authorization: `Bearer ${token}` };
    return (await send(this.url, '/v1/locations/NYC_USA', { headers })).status;
  }

  /** The ids in its key set. */
  async kids(): Promise<readonly string[]> {
    const { keys } = (await send(this.url, '/oauth2/jwks')).json() as { keys?: readonly { kid: string }[] };
    return (keys ?? []).map(({ kid }) => kid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true });
  }
}

function writeShift(folder: string, shift: object): void {
  writeFileSync(join(folder, 'next.json'), JSON.stringify(shift));
  renameSync(join(folder, 'next.json'), join(folder, 'shift.json'));
}
