import type { ClientKeys, FoundKeys } from '../../../application/ports/client-keys.ts';
import { isClientId } from '../../../domain/client-registration.ts';
import { SQLSTATE } from '../fault.ts';
import type { DatabaseLog } from '../health.ts';
import type { Runner } from '../runner.ts';
import { FIND_KEYS, type KeysRecord, readKeys } from './client-key-table.ts';

const UNKNOWN: FoundKeys = { registrationId: undefined, keys: [] };

/** Keys in the table `client_keys`: read at every look-up, never written and never cached. */
export class PostgresClientKeys implements ClientKeys {
  readonly #runner: Runner;
  readonly #log: DatabaseLog;

  constructor(runner: Runner, log: DatabaseLog) {
    this.#runner = runner;
    this.#log = log;
  }

  async findKeys(clientId: string): Promise<FoundKeys> {
    // The driver would send half a surrogate pair as U+FFFD, which another client id may contain.
    if (!isClientId(clientId) || !clientId.isWellFormed()) return UNKNOWN;
    const statement = { ...FIND_KEYS, values: [clientId, clientId] };
    const [record] = await this.#runner.run<KeysRecord>(statement, SQLSTATE.unstorableText);
    if (record === undefined) return UNKNOWN;
    const keys = readKeys(record);
    if (record.registrationId === null) return UNKNOWN;
    if (record.rows !== '1') return { registrationId: record.registrationId, keys: [] };
    const usable = keys.flatMap((key) => {
      if (!key.ok) this.#log({ event: 'registration_broken', client_id: clientId, field: 'jwk', rule: key.problem });
      return key.ok ? key.value : [];
    });
    return { registrationId: record.registrationId, keys: usable };
  }
}
