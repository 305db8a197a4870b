import type { Readable, Writable } from 'node:stream';
import { EXIT, type ExitCode } from './exit-code.ts';
import type { Outcome } from './outcome.ts';
import { printable, printableJson } from './printable.ts';

export interface TerminalStreams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Options that every command with an answer has. */
export interface AnswerOptions {
  readonly json?: true;
}

/** Where the program speaks: answers on standard output, everything else on standard error. */
export class Terminal {
  readonly stdin: TerminalStreams['stdin'];
  readonly #stdout: Writable;
  readonly #stderr: Writable;
  #exitCode: ExitCode = EXIT.done;

  constructor({ stdin, stdout, stderr }: TerminalStreams) {
    this.stdin = stdin;
    this.#stdout = stdout;
    this.#stderr = stderr;
    // A reader that went away, as `head` does, may have missed a secret.
    stdout.on('error', () => this.#fail(EXIT.refused, ['standard output was closed before all was written']));
  }

  get exitCode(): ExitCode {
    return this.#exitCode;
  }

  /** Shows what a command came to. */
  finish(outcome: Outcome, { json }: AnswerOptions): void {
    if (!outcome.ok) {
      this.#fail(outcome.problem.exitCode, outcome.problem.messages);
      return;
    }
    const { document, text, messages } = outcome.value;
    const shown = json === undefined ? text : printableJson(document);
    if (shown !== '') this.#stdout.write(`${shown}\n`);
    this.#say(messages);
  }

  /** A help page, as the library has laid it out. */
  writeHelp(text: string): void {
    this.#stdout.write(text);
  }

  /** The library's complaint about the arguments, without a value that somebody has tried to pass as `--secret=…`. */
  writeUsageError(text: string): void {
    const lines = text.trimEnd().split('\n');
    this.#say(lines.map((line) => line.replace(/('-[^'=]*)=.*'/, "$1'")));
  }

  #fail(exitCode: ExitCode, messages: readonly string[]): void {
    this.#exitCode = exitCode;
    this.#say(messages);
  }

  #say(messages: readonly string[]): void {
    for (const message of messages) this.#stderr.write(`${printable(message)}\n`);
  }
}
