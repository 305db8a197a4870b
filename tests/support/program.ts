import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from './until.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A program of this project that runs in a separate process. */
export interface Program extends AsyncDisposable {
  readonly process: ChildProcess;
  /** What it has written so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves when standard output matches; rejects if the program ends first. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** The exit code, once it has ended; null if a signal ended it. */
  ended(): Promise<number | null>;
}

/**
 * Runs a file of the project with this Node.js, from the project's root. Its environment is PATH and the given
 * variables, and the compile cache of the test run, which halves the processor time of a start.
 */
export function runProgram(
  file: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  nodeArgs: readonly string[] = [],
): Program {
  return followProgram(spawn(process.execPath, [...nodeArgs, file, ...args], optionsFor(environment)));
}

/** As `runProgram`, with file descriptors of the caller as its standard output and standard error. */
export function runProgramOn(
  stdout: number,
  file: string,
  environment: Readonly<Record<string, string>>,
  stderr: number | 'inherit' = 'inherit',
  args: readonly string[] = [],
): ChildProcess & AsyncDisposable {
  const child = spawn(process.execPath, [file, ...args], {
    ...optionsFor(environment),
    stdio: ['ignore', stdout, stderr],
  });
  const end = once(child, 'close');
  return Object.assign(child, {
    async [Symbol.asyncDispose]() {
      if (!hasEnded(child)) child.kill('SIGKILL');
      await end;
    },
  });
}

/** Runs a script of package.json as `npm run` does. At the end, everything that npm started is killed with it. */
export function runScript(script: string, environment: Readonly<Record<string, string>>): Program {
  return followGroup(spawn('npm', ['run', script], { ...optionsFor(environment), detached: true }));
}

/**
 * Runs a line as a shell does into which somebody pastes it. At the end, everything that it started is killed with it.
 */
export function runLine(line: string, environment: Readonly<Record<string, string>>): Program {
  return followGroup(spawn('bash', ['-c', line], { ...optionsFor(environment), detached: true }));
}

/**
 * Runs a command in a folder with the environment of this process. At the end, everything that it started is killed
 * with it.
 */
export function runCommand(
  [program, ...args]: readonly [program: string, ...args: string[]],
  folder: string,
  environment: Readonly<Record<string, string>>,
): Program {
  const env = { ...process.env, ...environment };
  return followGroup(spawn(program, args, { cwd: folder, env, detached: true }));
}

function followGroup(leader: ChildProcessWithoutNullStreams): Program {
  return {
    ...followProgram(leader),
    async [Symbol.asyncDispose]() {
      try {
        process.kill(-(leader.pid ?? 0), 'SIGKILL');
      } catch {
        // The process group has ended.
      }
    },
  };
}

/** What each program of the tests has in its environment. */
export function environmentOfPrograms() {
  const { PATH, COMPILE_CACHE_OF_PROGRAMS } = process.env;
  return { PATH, NODE_COMPILE_CACHE: COMPILE_CACHE_OF_PROGRAMS };
}

function optionsFor(environment: Readonly<Record<string, string>>) {
  return { cwd: ROOT, env: { ...environmentOfPrograms(), ...environment } };
}

/** Follows a program that was started in another way. */
export function followProgram(child: ChildProcessWithoutNullStreams): Program {
  const written = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    written.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    written.stderr += chunk;
  });
  const end = once(child, 'close').then(([code]) => code as number | null);

  return {
    process: child,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    ended: () => end,
    async printed(pattern) {
      await until(() => pattern.test(written.stdout) || hasEnded(child), `the program prints ${pattern}`);
      const match = pattern.exec(written.stdout);
      if (match === null) throw new Error(`the program ended: ${written.stderr}`);
      return match;
    },
    async [Symbol.asyncDispose]() {
      if (!hasEnded(child)) child.kill('SIGKILL');
      await end;
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
