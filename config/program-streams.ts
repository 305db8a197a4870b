import type { TerminalStreams } from '../adapters/cli/terminal.ts';

/** The streams of a program, such as those of the process. */
export interface ProgramStreams extends TerminalStreams {
  /** Audit lines without a file are written to its descriptor, at once. */
  readonly stderr: TerminalStreams['stderr'] & { readonly fd: number };
}
