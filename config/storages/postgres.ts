import { readDetails } from '../../adapters/files/clients-file.ts';
import { openClientsDatabase } from '../../adapters/postgres/clients-program/postgres-clients-database.ts';
import { openKeyRing } from '../../adapters/postgres/key-directory/postgres-key-ring.ts';
import { openKeyRingDatabase } from '../../adapters/postgres/keys-program/postgres-key-ring-database.ts';
import { openLastUsed } from '../../adapters/postgres/last-used/postgres-last-used.ts';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { openClientRows } from '../../adapters/postgres/postgres-client-rows.ts';
import { openUsedAssertions } from '../../adapters/postgres/private-key-jwt/postgres-used-assertions.ts';
import {
  openRevocations,
  openRevocationsDatabase,
} from '../../adapters/postgres/token-revocation/postgres-revocations.ts';
import { SqlKeyRing } from '../../adapters/sql/key-directory/sql-key-ring.ts';
import { SqlKeyRingRecords } from '../../adapters/sql/keys-program/sql-key-ring-records.ts';
import { SqlLastUsed } from '../../adapters/sql/last-used/sql-last-used.ts';
import { SqlClientRepository } from '../../adapters/sql/sql-client-repository.ts';
import { SqlClientStore } from '../../adapters/sql/sql-client-store.ts';
import { SqlClientTokens } from '../../adapters/sql/token-revocation/sql-client-tokens.ts';
import { SqlRevocations } from '../../adapters/sql/token-revocation/sql-revocations.ts';
import { tablesOf } from '../../adapters/sql/transaction.ts';
import { success } from '../../domain/result.ts';
import type { Storage } from './storage.ts';

/** Registrations, keys and used assertions in tables of PostgreSQL, each with its own pool. */
export const postgres: Storage = {
  async openClients({ database, poolSize, usesColumns, changesClients, log, clock, pickDecoy }) {
    const logRisk: typeof log = (line) =>
      changesClients && line.event === 'role_may_write_clients' ? undefined : log(line);
    const { rows, ...opened } = await openClientRows({ ...database, poolSize }, logRisk, usesColumns);
    return { clients: new SqlClientRepository({ rows, log, clock, pickDecoy }), ...opened };
  },

  async openKeyRing({ database, log }) {
    const { tables, dependency } = await openKeyRing(database, log);
    return { store: new SqlKeyRing(tables), dependency };
  },

  async openRevocations({ database, log }) {
    const { tables, dependency } = await openRevocations(database, log);
    return { store: new SqlRevocations(tables), dependency };
  },

  async openLastUsed({ database, log }) {
    const { tables, dependency } = await openLastUsed(database, log);
    return { store: new SqlLastUsed(tables), dependency };
  },

  openUsedAssertions: ({ database, clock, log }) => openUsedAssertions(database, clock, log),

  programs: {
    async openClients({ url, poolSize = 1 }) {
      const [clients, revocations] = [await openClientsDatabase(url, poolSize), await openRevocationsDatabase(url)];
      return {
        load: clients.load,
        refusal: () => new SqlClientStore(clients, readDetails).refusal(),
        with: (recorder) => ({
          store: new SqlClientStore(clients, readDetails, recorder),
          tokens: new SqlClientTokens(revocations, recorder),
          lastUsed: new SqlLastUsed(tablesOf(clients)),
        }),
        async close() {
          await revocations.close();
          await clients.close();
        },
      };
    },
    async openKeyRing({ url }, recorder) {
      return new SqlKeyRingRecords(await openKeyRingDatabase(url), recorder);
    },
    async migrate({ url }, options) {
      return success({ done: await migrateDatabase(url, options), hasRoles: true });
    },
  },
};
