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
    // `#write` says so.
    stdout.on('error', () => {});
  }

  get exitCode(): ExitCode {
    return this.#exitCode;
  }

  /** Shows what a command came to, and resolves when it is written. */
  async finish(outcome: Outcome, { json }: AnswerOptions): Promise<void> {
    if (!outcome.ok) {
      this.#fail(outcome.problem.exitCode, outcome.problem.messages);
      return;
    }
    const { document, text, messages } = outcome.value;
    const shown = json === undefined ? text() : printableJson(document);
    this.#say(messages);
    if (shown !== '') await this.#write(`${shown}\n`);
  }

  /** A help page, as the library has laid it out. */
  writeHelp(text: string): void {
    this.#stdout.write(text);
  }

  /** The library's complaint about the arguments, without their values: somebody may have tried `--secret=…`. */
  writeUsageError(text: string): void {
    const withoutValues = text.replace(/(but got \d+): .*/s, '$1.').replace(/'(-[^'=]*)=.*'/s, "'$1'");
    this.#say(withoutValues.trimEnd().split('\n'));
  }

  /** A reader that went away, as `head` does, may have missed a secret, so that is a failure. */
  #write(text: string): Promise<void> {
    return new Promise((resolve) => {
      this.#stdout.write(text, (fault) => {
        if (fault) this.#fail(EXIT.refused, ['Standard output was closed before all was written.']);
        resolve();
      });
    });
  }

  #fail(exitCode: ExitCode, messages: readonly string[]): void {
    this.#exitCode = exitCode;
    this.#say(messages);
  }

  #say(messages: readonly string[]): void {
    for (const message of messages) this.#stderr.write(`${printable(message)}\n`);
  }
}
