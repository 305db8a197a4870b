import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { problemIn } from '../../domain/problem.ts';
import type { Result } from '../../domain/result.ts';
import { EXIT, Problem } from './outcome.ts';

export interface Closable {
  close(): Promise<void>;
}

/** Opens a storage, or returns what is wrong with the environment. */
export type OpenStorage<Storage extends Closable> = () => Promise<Result<Storage, string | readonly string[]>>;

/** A storage that is opened at its first use, if there is one. */
export function whenUsed<Storage extends Closable>(openStorage: OpenStorage<Storage>) {
  let storage: Storage | undefined;
  return {
    async open(): Promise<Storage> {
      const opened = await openStorage();
      if (!opened.ok) throw new Problem(EXIT.usage, ...[opened.problem].flat());
      storage = opened.value;
      return storage;
    },
    close: async () => storage?.close(),
  };
}

/** What a fault of the storage says, and what to do about a table that cannot be used. */
export type StorageTexts = readonly [unusable: string, ...aboutTables: string[]];

const GRANT =
  'Use a role with this right: npm run migrate -- --grant-to <role>, with --role-for clients or --role-for keys, gives a role what it needs.';
const DOCTOR = 'CLIENT_REPOSITORY=postgres npm run doctor, with the same DATABASE_URL, says what to do.';

/**
 * The problem that a fault of a storage is; and for one of the connection or the server, where the operator finds what
 * to do. Other faults are thrown.
 */
export function problemOf(
  fault: unknown,
  [text, ...aboutTables]: StorageTexts = ['The database cannot be used'],
): Problem {
  if (fault instanceof Problem) return fault;
  if (fault instanceof ValueRefused) {
    return new Problem(EXIT.refused, `The table clients refuses this: ${detailsOf(fault.cause)}`);
  }
  if (!(fault instanceof DependencyUnavailable)) throw fault;
  const { cause, dependency } = fault;
  if (dependency === 'audit log') {
    return new Problem(EXIT.refused, `Nothing was changed: the audit log cannot be written: ${detailsOf(cause)}`);
  }
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const details = detailsOf(cause);
  const problem = problemIn(cause);
  // A table that cannot be used has no code. The doctor knows the grants of the service only (class 42).
  const about = aboutTables.length > 0 || problem?.fix !== undefined ? aboutTables : [DOCTOR];
  const hint = code === '' ? about : code === '42501' ? [GRANT] : code.startsWith('42') ? [] : [DOCTOR];
  return new Problem(EXIT.databaseUnavailable, `${text}: ${details}`, ...hint);
}

/** Message and code of a fault. Adapters keep values, statements and URLs out of both. */
function detailsOf(fault: unknown): string {
  if (!(fault instanceof Error)) return '';
  return 'code' in fault ? `${fault.message} (${fault.code})`.trimStart() : fault.message;
}
