import type { ClientRow } from '../../application/client-lookup.ts';
import { costsIn, followCosts } from '../../application/storage-figures.ts';
import { CLIENTS, FIND_BY_SUBJECT, FIND_CLIENTS, FIND_SECRET, FIND_WITH_KEYS, findCosts } from './client-entity.ts';
import { acquireTimeoutMs, type ConnectionOptions } from './connection.ts';
import type { DatabaseLog } from './database-log.ts';
import { LookUps } from './look-ups.ts';
import type { Runner } from './runner.ts';
import { openTable } from './table.ts';

/** A row of FIND_SECRET. */
interface SecretRow {
  readonly clientSecret: string | null;
  readonly details: string;
}

/** A row of FIND_WITH_KEYS. */
interface AskedRow extends ClientRow {
  readonly asked: string;
  /** False for the row of another client, in the place of one that is missing. */
  readonly own: boolean;
}

/** The rows of the table `clients`. The entity manager is not on this path; docs/decisions/0102 has the figures. */
export function clientRows(runner: Runner) {
  const clients = new LookUps<ClientRow>(runner, FIND_CLIENTS, ({ clientId }) => clientId);
  const withKeys = new LookUps<AskedRow>(runner, FIND_WITH_KEYS, ({ asked }) => asked);
  const find = <Row>(statement: { readonly text: string }, ...values: string[]) =>
    runner.run<Row>({ ...statement, values });
  return {
    find: (clientId: string) => clients.find(clientId),
    findSecret: async (clientId: string, hasId: boolean) =>
      (await find<SecretRow>(FIND_SECRET, clientId, String(hasId)))[0],
    findWithKeys: (clientId: string) => withKeys.find(clientId),
    findBySubject: (issuer: string, subject: string, clientId: string) =>
      find<ClientRow>(FIND_BY_SUBJECT, JSON.stringify([{ issuer, subject }]), clientId),
    /** The BCrypt costs that stored secrets have; undefined if it takes longer to read the table. */
    async findCosts(milliseconds: number): Promise<readonly number[] | undefined> {
      const rows = await runner.tryRun<{ readonly cost: string }>(findCosts(milliseconds), milliseconds);
      return rows && costsIn(rows);
    },
  };
}

/** How long the table may be read for its costs, for which the deadline of a request is too short. */
const WHOLE_TABLE_MS = 60_000;

/** The look-up of an id that no client can have. */
const FIND_NO_CLIENT = { ...FIND_CLIENTS, values: [['']] };

/**
 * The table, and the costs of its secrets. Throws if the table cannot be used. If the database cannot be reached,
 * resolves and continues to try.
 *
 * @param needsDetails whether the service is of no use without the column `details`.
 */
export async function openClientRows(options: ConnectionOptions, log: DatabaseLog, needsDetails = false) {
  const definition = needsDetails ? { ...CLIENTS, optional: [] } : CLIENTS;
  const table = await openTable('client repository', definition, options, log, FIND_NO_CLIENT);
  const rows = clientRows(table.runner);
  // Requests wait for the only connection, and still find their responses in time.
  const costsMs = options.poolSize > 1 ? WHOLE_TABLE_MS : Math.ceil(acquireTimeoutMs(options.deadlineMs) / 4);
  return { rows, ...followCosts(table, () => rows.findCosts(costsMs)) };
}
