import type { AnswerCount } from './answer-count.ts';

/** What the process of the attackers is told. */
export interface AttackJob {
  readonly port: number;
  readonly seconds: number;
  /** Connections of which a third each sends guesses, unknown clients and garbage, as fast as they are answered. */
  readonly connections: number;
  readonly lorises: number;
  /** Clients whose secrets are guessed. */
  readonly knownClients: readonly string[];
  /** The client whose secrets are guessed on one more connection: where its row has BCrypt cost 14, a check takes 16 times the usual. */
  readonly dearClient: string;
}

/** What it tells at its end. */
export interface AttackerAnswers {
  readonly guesses: AnswerCount;
  readonly unknown: AnswerCount;
  readonly garbage: AnswerCount;
  readonly dear: AnswerCount;
  readonly lorises: AnswerCount;
}
