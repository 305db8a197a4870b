import { type Failure, failure, type Result } from '../../domain/result.ts';

/** How the program ends, for scripts. docs/managing-clients.md promises these numbers. */
export const EXIT = {
  done: 0,
  /** The request cannot be fulfilled: no such client, an id that is taken, an unusable secret or file. */
  refused: 1,
  /** The command line or the environment is wrong; nothing was tried. */
  usage: 2,
  /** The database cannot be reached or used. */
  databaseUnavailable: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The answer of a command that succeeded. */
export interface Answer {
  /** The JSON document of `--json`. Its members are named as in a clients file. */
  readonly document: unknown;
  /** The same for people, on standard output. Laid out only on request; empty if there is nothing to show. */
  text(): string;
  /** For standard error, one line each. */
  readonly messages: readonly string[];
}

/** Why a command did nothing. */
export interface Problem {
  readonly exitCode: ExitCode;
  readonly messages: readonly string[];
}

export type Outcome = Result<Answer, Problem>;

/** A part of an answer of any length: text for standard output, or a line for standard error. */
export type AnswerPart = { readonly text: string } | { readonly message: string };

/** An answer that is written while it is read: whole, or part by part. A problem ends it. */
export type AnswerStream = AsyncIterable<Result<Answer | AnswerPart, Problem>>;

export async function* partsOf(answer: Promise<Outcome> | AnswerStream): AnswerStream {
  if (Symbol.asyncIterator in answer) yield* answer;
  else yield await answer;
}

/** The outcome of a command that did nothing. Messages never quote a secret or a hash. */
export function problem(exitCode: ExitCode, ...messages: readonly string[]): Failure<Problem> {
  return failure({ exitCode, messages });
}
