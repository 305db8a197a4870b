import type { Problem } from '../../domain/problem.ts';

/** Whether a part of the service can do its work now, and if not, why not. */
export type Readiness =
  | { readonly ready: true; readonly note?: Problem }
  | { readonly ready: false; readonly reason: Problem };

/** Something that the service needs in order to answer requests. */
export interface HealthCheck {
  readonly name: string;
  /** A note: what is wrong while the service can go on without this part. Costs nothing and never fails. */
  readiness(): Readiness;
}

/** A check as `/readyz` shows it. */
export type CheckState = { readonly name: string; readonly fix?: string } & (
  | { readonly ready: true; readonly note?: string }
  | { readonly ready: false; readonly reason: string }
);

/** What each check says now. */
export function statesOf(checks: readonly HealthCheck[]): readonly CheckState[] {
  return checks.map((check) => {
    const state = check.readiness();
    const { text, fix } = problemOf(state) ?? {};
    const [name, more] = [check.name, fix === undefined ? {} : { fix }];
    if (state.ready === false) return { name, ready: false, reason: state.reason.text, ...more };
    return { name, ready: true, ...(text !== undefined && { note: text }), ...more };
  });
}

/** What is wrong, whether or not the service can continue; undefined if nothing is. */
export function problemOf(readiness: Readiness): Problem | undefined {
  return readiness.ready === false ? readiness.reason : readiness.note;
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
