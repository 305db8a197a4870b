import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALERTS_FILE } from './alert-rules.ts';
import { freePort } from './free-port.ts';
import { send } from './http.ts';
import { until } from './until.ts';

interface ScrapedService {
  readonly job: string;
  /** Host and port of each replica. */
  readonly targets: readonly string[];
  /** By how much the times of the rules are divided, so that a test takes minutes instead of hours; 1 by default. */
  readonly faster?: number;
}

const SECONDS_OF = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** The rules with each time of `for`, of a range and of an offset divided. */
function withShorterTimes(rules: string, faster: number): string {
  return rules.replaceAll(
    /(for: |\[|offset )(\d+)([smhd])\b/g,
    (_all, before, count, unit: keyof typeof SECONDS_OF) => {
      return `${before}${Math.ceil((Number(count) * SECONDS_OF[unit]) / faster)}s`;
    },
  );
}

/** A real Prometheus, which scrapes a service every second and evaluates the alert rules of deploy/. */
export class Prometheus implements AsyncDisposable {
  readonly #url: string;
  readonly #process: ChildProcess;
  readonly #folder: string;

  private constructor(url: string, process: ChildProcess, folder: string) {
    this.#url = url;
    this.#process = process;
    this.#folder = folder;
  }

  static async start({ job, targets, faster = 1 }: ScrapedService): Promise<Prometheus> {
    const [folder, port] = [await mkdtemp(join(tmpdir(), 'prometheus-')), await freePort()];
    const configuration = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yml'],
      scrape_configs: [{ job_name: job, static_configs: [{ targets }] }],
    };
    await writeFile(join(folder, 'rules.yml'), withShorterTimes(await readFile(ALERTS_FILE, 'utf8'), faster));
    const file = join(folder, 'prometheus.yml');
    await writeFile(file, JSON.stringify(configuration));
    const process = spawn(
      'prometheus',
      [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`],
      { stdio: 'ignore' },
    );
    const prometheus = new Prometheus(`http://127.0.0.1:${port}`, process, folder);
    await until(() => prometheus.#isReady(), 'Prometheus is ready');
    return prometheus;
  }

  /** The values of a query now. Throws if Prometheus does not accept it. */
  async query(query: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]> {
    return (await this.#ask(`/api/v1/query?query=${encodeURIComponent(query)}`)).result;
  }

  /** The names and the state of all alert rules. */
  async rules(): Promise<readonly { readonly name: string; readonly health: string }[]> {
    return (await this.#ask('/api/v1/rules')).groups.flatMap(({ rules }: { rules: readonly object[] }) => rules);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null) {
      this.#process.kill('SIGKILL');
      await once(this.#process, 'close');
    }
    await rm(this.#folder, { recursive: true });
  }

  async #ask(path: string) {
    const { text } = await send(this.#url, path);
    const { status, error, data } = JSON.parse(text);
    if (status !== 'success') throw new Error(`${error}: ${decodeURIComponent(path)}`);
    return data;
  }

  async #isReady(): Promise<boolean> {
    return send(this.#url, '/-/ready').then(
      ({ status }) => status === 200,
      () => false,
    );
  }
}
