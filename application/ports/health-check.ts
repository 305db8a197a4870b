/** Whether a part of the service can do its work now, and if not, why not, in words for an operator. */
export type Readiness =
  | { readonly ready: true; readonly note?: string }
  | { readonly ready: false; readonly reason: string };

/** Something that the service needs in order to answer requests. */
export interface HealthCheck {
  readonly name: string;
  /** A note says what is wrong if the service can continue without this part for a while. Costs nothing and never fails. */
  readiness(): Readiness;
}

/** A check as `/readyz` shows it. */
export type CheckState = Readiness & { readonly name: string };

/** What each check says now. */
export function statesOf(checks: readonly HealthCheck[]): readonly CheckState[] {
  return checks.map((check) => ({ name: check.name, ...check.readiness() }));
}

/** 0 ready, 1 ready with a note, 2 not ready. */
export function severityOf(readiness: Readiness): number {
  if (!readiness.ready) return 2;
  return readiness.note === undefined ? 0 : 1;
}

/** Something outside the process that was opened for the service, and is closed at its end. */
export interface Dependency extends HealthCheck {
  close(): Promise<void>;
}
