import type { ClientKeys, FoundKeys } from '../../../application/ports/client-keys.ts';
import type { DatabaseLog } from '../health.ts';
import { LookUps } from '../look-ups.ts';
import type { Runner } from '../runner.ts';
import { FIND_KEYS, type KeysRecord, readKeys } from './client-key-table.ts';

const UNKNOWN: FoundKeys = { registrationId: undefined, keys: [] };

/** Keys in the table `client_keys`: read at every look-up, never written and never cached. */
export class PostgresClientKeys implements ClientKeys {
  readonly #lookUps: LookUps<KeysRecord>;
  readonly #log: DatabaseLog;

  constructor(runner: Runner, log: DatabaseLog) {
    this.#lookUps = new LookUps(runner, FIND_KEYS);
    this.#log = log;
  }

  async findKeys(clientId: string): Promise<FoundKeys> {
    const record = (await this.#lookUps.find(clientId)).find((row) => row.clientId === clientId);
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
