import type { ClientRow, CredentialRow } from '../../application/client-lookup.ts';
import type { Readiness } from '../../application/ports/health-check.ts';
import { costsIn, followCosts } from '../../application/storage-figures.ts';
import { acquireTimeoutMs, type ConnectionOptions } from './connection.ts';
import type { DatabaseLog } from './database-log.ts';
import { findCosts, lookUpStatements } from './look-up-statements.ts';
import { LookUps } from './look-ups.ts';
import { type OpenTable, openTable } from './table.ts';
import { CLIENTS } from './tables.ts';

/** A row of `findCredentials`. */
interface AskedRow extends CredentialRow {
  readonly asked: string;
}

const STATEMENTS = { whole: lookUpStatements(true), bare: lookUpStatements(false) };

/** The rows of the table `clients`. The entity manager is not on this path; docs/decisions/0125 has the figures. */
export function clientRows(table: Pick<OpenTable, 'runner' | 'hasOptional' | 'highestId'>) {
  const { runner } = table;
  // Once the columns are there, a statement without them would issue tokens without claims if they were lost.
  const statements = () => (table.hasOptional ? STATEMENTS.whole : STATEMENTS.bare);
  const clients = new LookUps<ClientRow>(
    runner,
    () => statements().findClients,
    ({ clientId }) => clientId,
  );
  const credentials = new LookUps<AskedRow>(
    runner,
    () => statements().findCredentials,
    ({ asked }) => asked,
  );
  return {
    find: (clientId: string) => clients.find(clientId),
    findCredentials: (clientId: string, decoy: number) => credentials.find(clientId, String(decoy)),
    highestId: () => table.highestId,
    findBySubject: (issuer: string, subject: string, clientId: string) =>
      runner.run<ClientRow>({
        ...statements().findBySubject,
        values: [JSON.stringify([{ issuer, subject }]), clientId],
      }),
    /** The BCrypt costs that stored secrets have; undefined if it takes longer to read the table. */
    async findCosts(milliseconds: number): Promise<readonly number[] | undefined> {
      const statement = findCosts(milliseconds, table.hasOptional);
      const rows = await runner.tryRun<{ readonly cost: string }>(statement, milliseconds);
      return rows && costsIn(rows);
    },
  };
}

/** How long the table may be read for its costs, for which the deadline of a request is too short. */
const WHOLE_TABLE_MS = 60_000;

const COLUMNS_MISSING = {
  code: 'columns_missing',
  text: 'table clients has only the columns of secrets: no client can have a key or an identity',
  fix: 'npm run migrate adds the others',
};

/** The look-up of an id that no client can have. */
const findNoClient = (hasColumns: boolean) => ({ ...lookUpStatements(hasColumns).findClients, values: [['']] });

/**
 * The table, and the costs of its secrets. Throws if the table cannot be used. If the database cannot be reached,
 * resolves and continues to try.
 *
 * @param usesColumns whether clients may authenticate by what is in the columns `credentials` and `details`.
 */
export async function openClientRows(options: ConnectionOptions, log: DatabaseLog, usesColumns = false) {
  const table = await openTable('client repository', CLIENTS, options, log, findNoClient);
  const rows = clientRows(table);
  // Requests wait for the only connection, and still find their responses in time.
  const costsMs = options.poolSize > 1 ? WHOLE_TABLE_MS : Math.ceil(acquireTimeoutMs(options.deadlineMs) / 4);
  const readiness = (): Readiness => {
    const state = table.readiness();
    const isBare = usesColumns && !table.hasOptional;
    return state.ready && state.note === undefined && isBare ? { ready: true, note: COLUMNS_MISSING } : state;
  };
  return { rows, ...followCosts({ ...table, readiness }, () => rows.findCosts(costsMs)) };
}
