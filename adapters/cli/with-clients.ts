import type { ClientManagement } from '../../application/clients/client-management.ts';
import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { Failure, Result } from '../../domain/result.ts';
import { type AnswerPart, type AnswerStream, EXIT, type Outcome, type Problem, problem } from './outcome.ts';

/** The use cases of the commands, on a store that is open. */
export interface ClientUseCases extends ClientManagement {
  close(): Promise<void>;
}

/** Opens the use cases, or returns what is wrong with the environment. */
export type OpenClients = () => Promise<Result<ClientUseCases, string>>;

/** Runs a command's work on the stored clients, and leaves nothing open. Faults of the storage become problems. */
export async function withClients(
  open: OpenClients,
  work: (clients: ClientUseCases) => Promise<Outcome>,
): Promise<Outcome> {
  const opened = await open();
  if (!opened.ok) return problem(EXIT.usage, opened.problem);
  const clients = opened.value;
  try {
    return await work(clients).finally(() => clients.close());
  } catch (fault) {
    return problemOf(fault);
  }
}

/** The same for an answer that is written while the store is open. */
export async function* streamWithClients(
  open: OpenClients,
  work: (clients: ClientUseCases) => AnswerStream,
): AsyncGenerator<Result<AnswerPart, Problem>> {
  const opened = await open();
  if (!opened.ok) return yield problem(EXIT.usage, opened.problem);
  const clients = opened.value;
  try {
    yield* work(clients);
  } catch (fault) {
    yield problemOf(fault);
  } finally {
    await clients.close();
  }
}

function problemOf(fault: unknown): Failure<Problem> {
  if (fault instanceof ValueRefused) {
    return problem(EXIT.refused, `The table clients refuses this: ${detailsOf(fault.cause)}`);
  }
  if (fault instanceof DependencyUnavailable) {
    if (fault.dependency === 'audit log') return notRecorded(fault);
    return problem(EXIT.databaseUnavailable, ...unavailable('The database cannot be used', fault));
  }
  throw fault;
}

/** The problem of a change that was not made, since the audit log is required and could not be written. */
export function notRecorded({ cause }: DependencyUnavailable): Failure<Problem> {
  return problem(EXIT.refused, `Nothing was changed: the audit log cannot be written: ${detailsOf(cause)}`);
}

const DOCTOR = 'CLIENT_REPOSITORY=postgres npm run doctor, with the same DATABASE_URL, says what to do.';

/**
 * What a fault of the database says; and for one of the connection or the server, where the operator finds what to do.
 *
 * @param aboutTables what to do about a table that cannot be used.
 */
export function unavailable(
  text: string,
  { cause }: DependencyUnavailable,
  ...aboutTables: readonly string[]
): readonly string[] {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  // A table that cannot be used has no code. The doctor knows the grants of the service only (class 42).
  const hint = code === '' ? aboutTables : code.startsWith('42') ? [] : [DOCTOR];
  return [`${text}: ${detailsOf(cause)}`, ...hint];
}

/** Message and code of a fault. Adapters keep values, statements and URLs out of both. */
export function detailsOf(fault: unknown): string {
  if (!(fault instanceof Error)) return '';
  return 'code' in fault ? `${fault.message} (${fault.code})`.trimStart() : fault.message;
}
