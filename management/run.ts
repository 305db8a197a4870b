import { CommanderError } from 'commander';
import { createProgram } from './create-program.ts';
import { EXIT } from './exit-code.ts';
import { Terminal, type TerminalStreams } from './terminal.ts';

/** What the program has of the process around it. */
export interface Surroundings extends TerminalStreams {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Does what the arguments say, and answers the exit code. Rejects for nothing but a bug. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const terminal = new Terminal(surroundings);
  try {
    await createProgram(terminal, surroundings.env).parseAsync([...args], { from: 'user' });
  } catch (problem) {
    if (!(problem instanceof CommanderError)) throw problem;
    // The library has said already what is wrong; it ends this way after a help page too, with 0.
    return problem.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  return terminal.exitCode;
}
