import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { EXIT, type ExitCode, type Output, type OutputStream } from './outcome.ts';
import { printable, printableJson } from './printable.ts';
import type { Input } from './read-secret.ts';

/** The streams of the process. */
export interface TerminalStreams {
  readonly stdin: Input;
  /** With the width of the terminal, if it is one. */
  readonly stdout: Writable & { readonly columns?: number; readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** The width of what is no terminal, such as a file. */
const COLUMNS_DEFAULT = 80;

/** Options of every command that shows output. */
export interface OutputOptions {
  readonly json?: true;
}

/** Writes answers to standard output, and everything else to standard error. */
export class Terminal {
  readonly #streams: TerminalStreams;
  #exitCode: ExitCode = EXIT.done;

  constructor(streams: TerminalStreams) {
    this.#streams = streams;
    // `#write` reports the fault.
    streams.stdout.on('error', () => {});
  }

  get exitCode(): ExitCode {
    return this.#exitCode;
  }

  /** Whether a person can be asked. */
  get isInteractive(): boolean {
    const { stdin, stdout, stderr } = this.#streams;
    return [stdin, stdout, stderr].every(({ isTTY }) => isTTY);
  }

  /** Asks a person. True without one: where a stream is no terminal, a script waits for no response. */
  async confirms(question: string): Promise<boolean> {
    const { stdin, stderr } = this.#streams;
    if (!this.isInteractive) return true;
    stderr.write(`${printable(question)} [y/N] `);
    const lines = createInterface({ input: stdin });
    const ended = once(lines, 'close').then(() => ['']);
    const [response] = await Promise.race([once(lines, 'line'), ended]);
    // Otherwise the program would wait for more.
    lines.close();
    return /^\s*y(es)?\s*$/i.test(response);
  }

  /** Writes the parts as they come, and no faster than they are read. Ends the stream if nobody reads any more. */
  async show(parts: OutputStream, options: OutputOptions): Promise<void> {
    for await (const part of parts) {
      if ('message' in part) this.say([part.message]);
      else if ('document' in part) await this.#showWhole(part, options);
      else await this.#write(part.text);
      if (this.#exitCode !== EXIT.done) return;
    }
  }

  async #showWhole({ document, text, messages }: Output, { json }: OutputOptions): Promise<void> {
    const shown = json === undefined ? text() : printableJson(document);
    this.say(messages);
    if (shown !== '') await this.#write(`${shown}\n`);
  }

  /** The width of help pages in characters. */
  get columns(): number {
    return this.#streams.stdout.columns ?? COLUMNS_DEFAULT;
  }

  /** Writes a help page as the library formatted it. */
  writeHelp(text: string): void {
    this.#streams.stdout.write(text);
  }

  /** Writes the library's complaint about the arguments without their values: a user may have tried `--secret=…`. */
  writeUsageError(text: string): void {
    const withoutValues = text.replace(/(but got \d+): .*/s, '$1.').replace(/'(-[^'=]*)=.*'/s, "'$1'");
    this.say(withoutValues.trimEnd().split('\n'));
  }

  /** A reader that stops early, as `head` does, may have missed a secret: that is a failure. */
  #write(text: string): Promise<void> {
    return new Promise((resolve) => {
      this.#streams.stdout.write(text, (fault) => {
        const code = fault && 'code' in fault ? String(fault.code) : '';
        const what = code === 'EPIPE' || code === '' ? 'was closed' : `failed (${code})`;
        if (fault) this.fail(EXIT.refused, [`Standard output ${what} before the whole output was written.`]);
        resolve();
      });
    });
  }

  /** Ends the program with this exit code and these lines on standard error. */
  fail(exitCode: ExitCode, messages: readonly string[]): void {
    this.#exitCode = exitCode;
    this.say(messages);
  }

  /** Writes lines to standard error. */
  say(messages: readonly string[]): void {
    for (const message of messages) this.#streams.stderr.write(`${printable(message)}\n`);
  }
}
