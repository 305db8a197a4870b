import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export type Command = readonly [program: string, ...args: string[]];

/** Programs in another language, with the versions of their packages. */
export interface Project {
  readonly name: string;
  /** From here; a project has the files of all of them. */
  readonly folders: readonly string[];
  /** Succeeds if the tools are installed. */
  readonly tools: Command;
  /** Fetches and builds what the programs need, in a copy of the folders. */
  readonly install: readonly Command[];
}

/** A copy of a project's folders, with its packages. */
export interface InstalledProject extends AsyncDisposable {
  readonly folder: string;
}

/** What a program wrote, and whether it ended with code 0. */
export interface Run {
  readonly succeeded: boolean;
  readonly output: string;
}

/** For programs that refuse http, and against banners that would hide an error. */
const ENVIRONMENT = { OAUTHLIB_INSECURE_TRANSPORT: '1', GOFLAGS: '-buildvcs=false', CARGO_TERM_COLOR: 'never' };

/** Runs a command in a folder until it ends, for at most ten minutes. */
export async function run(
  [program, ...args]: Command,
  folder: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<Run> {
  const env = { ...process.env, ...ENVIRONMENT, ...environment };
  const options = { cwd: folder, env, timeout: 600_000, maxBuffer: 2 ** 26 };
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, options);
    return { succeeded: true, output: stdout + stderr };
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    return { succeeded: false, output: `${message}\n${stdout}${stderr}` };
  }
}

/** Installs a project, or says on standard error why its programs are skipped. */
export async function installProject(project: Project): Promise<InstalledProject | undefined> {
  if (!(await run(project.tools, '.')).succeeded) {
    process.stderr.write(`skipped: ${project.name}, because \`${project.tools.join(' ')}\` fails\n`);
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), 'interop-'));
  for (const source of project.folders) {
    await cp(fileURLToPath(new URL(`${source}/`, import.meta.url)), folder, { recursive: true });
  }
  for (const command of project.install) {
    const { succeeded, output } = await run(command, folder);
    if (succeeded) continue;
    process.stderr.write(
      `skipped: ${project.name}, because \`${command.join(' ')}\` fails:\n${output.slice(0, 2_000)}\n`,
    );
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
