import { type Failure, failure, type Result } from '../domain/result.ts';
import type { ExitCode } from './exit-code.ts';

/** What a command has to say when it is done. */
export interface Answer {
  /** The one JSON document of `--json`, its members named as in a clients file. */
  readonly document: unknown;
  /** The same for people, on standard output, laid out when it is asked for; empty where there is nothing to show. */
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

/** An outcome that is none. Messages never quote a secret or a hash. */
export function problem(exitCode: ExitCode, ...messages: readonly string[]): Failure<Problem> {
  return failure({ exitCode, messages });
}
