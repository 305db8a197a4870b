import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ProcessTree } from '../machine/process-tree.ts';
import { startProcess } from './own-process.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const START_SECONDS_MAX = 30;

/** How long a server that was told to end may take before it is killed, in milliseconds. */
const END_MS_MAX = 5_000;

/** A server under test as a process of its own, with nothing of this one's environment but PATH. Its log is thrown away, as by `> /dev/null`. */
export class ServerProcess implements AsyncDisposable {
  readonly tree: ProcessTree;
  readonly #child: ChildProcess;
  #problems = '';

  /**
   * @param file from the project's root.
   * @param flags of Node.js.
   */
  constructor(file: string, environment: Readonly<Record<string, string>>, flags: readonly string[] = []) {
    this.#child = startProcess(process.execPath, [...flags, file], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child.stderr?.on('data', (chunk) => {
      this.#problems = (this.#problems + chunk).slice(-4_000);
    });
    if (this.#child.pid === undefined) throw new Error(`${file} cannot be started`);
    this.tree = new ProcessTree(this.#child.pid);
  }

  /** Resolves once a GET of the URL is answered with 200. Rejects with what the server said where it ended before. */
  async answers(url: string): Promise<void> {
    const deadline = Date.now() + START_SECONDS_MAX * 1000;
    while (!(await isWell(url))) {
      if (this.#hasEnded) throw new Error(`the server ended: ${this.#problems}`);
      if (Date.now() > deadline) throw new Error(`${url} was not answered: ${this.#problems}`);
      await delay(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#hasEnded) return;
    const end = once(this.#child, 'close');
    this.#child.kill('SIGINT');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_MS_MAX);
    await end;
    clearTimeout(timer);
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}

async function isWell(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status === 200;
}
