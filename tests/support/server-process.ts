import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const START_SECONDS_MAX = 30;

/** Milliseconds between SIGINT and SIGKILL. */
const END_MS_MAX = 5_000;

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a program that ends with this process, however this process ends. */
export function startProcess(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, options);
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

/** Runs a program to its end and returns its standard output. If it fails, throws what it wrote to standard error. */
export async function runProcess(
  command: string,
  args: readonly string[],
  { cwd, exitCodes = [0] }: { readonly cwd?: string; readonly exitCodes?: readonly number[] } = {},
): Promise<string> {
  const child = startProcess(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...(cwd !== undefined && { cwd }) });
  const written = [child.stdout, child.stderr].map((stream) => text(stream as Readable));
  const [[code], output = '', problem] = await Promise.all([once(child, 'close'), ...written]);
  if (!exitCodes.includes(code)) throw new Error(`${command} ${args.join(' ')} exited with ${code}: ${problem}`);
  return output;
}

/**
 * A server as its own process, with nothing of this process's environment but PATH. Its log is discarded, as by `>
 * /dev/null`.
 */
export class ServerProcess implements AsyncDisposable {
  readonly pid: number;
  readonly #child: ChildProcess;
  #errors = '';

  /**
   * @param args a program and, before it, flags of Node.js.
   * @param processesFile a file to which the server's process id is written before it starts, as control groups ask
   * for.
   */
  constructor(
    cwd: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    processesFile = '/dev/null',
  ) {
    const script = 'echo $$ > "$0" && exec "$@"';
    this.#child = startProcess('/bin/sh', ['-c', script, processesFile, process.execPath, ...args], {
      cwd,
      env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child.stderr?.on('data', (chunk) => {
      this.#errors = (this.#errors + chunk).slice(-4_000);
    });
    if (this.#child.pid === undefined) throw new Error(`${args.join(' ')} cannot be started in ${cwd}`);
    this.pid = this.#child.pid;
  }

  /** Resolves once a GET of the URL returns 200. Rejects with the server's standard error if it ends before. */
  async answers(url: string): Promise<void> {
    const deadline = Date.now() + START_SECONDS_MAX * 1000;
    while (!(await isOk(url))) {
      if (this.#hasEnded) throw new Error(`the server exited: ${this.#errors}`);
      if (Date.now() > deadline) throw new Error(`${url} did not answer: ${this.#errors}`);
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

async function isOk(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined);
  await response?.body?.cancel();
  return response?.status === 200;
}
