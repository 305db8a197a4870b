import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Starts a program that does not outlive this process, however this one ends. */
export function startProcess(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, options);
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
  return child;
}

/** Runs a program to its end and answers its standard output. Throws what it wrote to standard error where it fails. */
export async function runProcess(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly input?: string; readonly exitCodes?: readonly number[] } = {},
): Promise<string> {
  const { input = '', exitCodes = [0], cwd } = options;
  const child = startProcess(command, args, { stdio: 'pipe', ...(cwd !== undefined && { cwd }) });
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error(`${command} was started without pipes`);
  // A program that ends early closes it; its exit code tells.
  stdin.on('error', () => {});
  stdin.end(input);
  const [output, problem, [code]] = await Promise.all([text(stdout), text(stderr), once(child, 'close')]);
  if (!exitCodes.includes(code)) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${problem}`);
  return output;
}
