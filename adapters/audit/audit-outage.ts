import { codeOf } from './audit-file.ts';

/** When to try again after a fault, in milliseconds. */
const RETRY_MS = 250;

/** A change of state, for the operator's log. */
export type AuditChange =
  | { readonly event: 'audit_unavailable'; readonly code: string }
  | { readonly event: 'audit_available'; readonly lines: number };

/** A time in which audit lines cannot be written: tries again, and counts the lines that are lost meanwhile. */
export class AuditOutage {
  readonly #onChange: (change: AuditChange) => void;
  readonly #tryAgain: () => void;
  #fault: unknown;
  #linesLost = 0;
  #unreported = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(onChange: (change: AuditChange) => void, tryAgain: () => void) {
    this.#onChange = onChange;
    this.#tryAgain = tryAgain;
  }

  /** The last fault; undefined while lines can be written. */
  get fault(): unknown {
    return this.#fault;
  }

  /** Its code from the system, such as `ENOSPC`. */
  get code(): string | undefined {
    return this.#fault === undefined ? undefined : codeOf(this.#fault);
  }

  /** Lines that were lost since the process started. */
  get linesLost(): number {
    return this.#linesLost;
  }

  /** Those that no line has reported yet. */
  get unreported(): number {
    return this.#unreported;
  }

  countLostLine(): void {
    this.#linesLost += 1;
    this.#unreported += 1;
  }

  /** A write has failed. */
  begin(fault: unknown): void {
    if (this.#fault === undefined) this.#onChange({ event: 'audit_unavailable', code: codeOf(fault) });
    this.#fault = fault;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#tryAgain();
    }, RETRY_MS).unref();
  }

  /** A write has succeeded, and what was lost is reported. */
  end(): void {
    const [hadFault, lines] = [this.#fault !== undefined, this.#unreported];
    this.#fault = undefined;
    this.#unreported = 0;
    if (hadFault || lines > 0) this.#onChange({ event: 'audit_available', lines });
  }

  close(): void {
    clearTimeout(this.#retry);
  }
}
