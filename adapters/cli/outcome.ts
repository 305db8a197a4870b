/** How the program ends, for scripts. docs/managing-clients.md promises these numbers. */
export const EXIT = {
  done: 0,
  /** The request cannot be fulfilled: no such client, an id that is taken, an unusable secret or file. */
  refused: 1,
  /** The command line or the environment is wrong; nothing was tried. */
  usage: 2,
  /** The database cannot be reached or used. */
  databaseUnavailable: 3,
  /** Nothing was changed, and something would be: `apply --check`. */
  wouldChange: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The output of a command that succeeded. */
export interface Output {
  /** The JSON document of `--json`. Its fields are named as in a clients file. */
  readonly document: unknown;
  /** The same for people, on standard output. Laid out only on request; empty if there is nothing to show. */
  text(): string;
  /** For standard error, one line each. */
  readonly messages: readonly string[];
}

/** A part of output of any length: text for standard output, or a line for standard error. */
export type OutputPart = { readonly text: string } | { readonly message: string };

/** Output that is written while it is read: whole, or part by part. */
export type OutputStream = AsyncIterable<Output | OutputPart>;

/** Thrown by a command that does nothing, or not all. Messages never quote a secret or a hash. */
export class Problem extends Error {
  readonly exitCode: ExitCode;
  readonly messages: readonly string[];

  constructor(exitCode: ExitCode, ...messages: readonly string[]) {
    super(messages.join('\n'));
    this.exitCode = exitCode;
    this.messages = messages;
  }
}
