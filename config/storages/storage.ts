import type { Migrated, MigrateOptions } from '../../adapters/cli/run-migrate.ts';
import type { StateLog } from '../../adapters/log/state-log.ts';
import type { ConnectionOptions } from '../../adapters/postgres/connection.ts';
import type { PickDecoy } from '../../application/client-lookup.ts';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type { ClientRepository } from '../../application/ports/client-repository.ts';
import type { ClientChange, ClientStore } from '../../application/ports/client-store.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { Dependency } from '../../application/ports/health-check.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { KeyRingChange, KeyRingRecords } from '../../application/ports/key-ring-records.ts';
import type { KeyRingStore } from '../../application/ports/key-ring-store.ts';
import type { LastUsed } from '../../application/ports/last-used.ts';
import type { ClientTokens, Revocations } from '../../application/ports/revocations.ts';
import type { PoolLoad } from '../../application/ports/telemetry.ts';
import type { UsedAssertions } from '../../application/ports/used-assertions.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import type { Problem } from '../../domain/problem.ts';
import type { Result } from '../../domain/result.ts';

/** Where registrations are, and what is kept beside them. What is absent, this storage does not have. */
export interface Storage {
  /** Rejects if the storage cannot be used at all. */
  openClients(needs: ServiceNeeds): Promise<OpenClients>;
  /** `KEY_DIRECTORY=database`. Rejects as `openClients`. */
  openKeyRing?(needs: ServiceNeeds): Promise<Opened<KeyRingStore>>;
  /** What all replicas know of `private_key_jwt`; otherwise each has its own in memory. Rejects as `openClients`. */
  openUsedAssertions?(needs: ServiceNeeds): Promise<Opened<UsedAssertions>>;
  /** `TOKEN_REVOCATION`, for all replicas; otherwise each has its own in memory. Rejects as `openClients`. */
  openRevocations?(needs: ServiceNeeds): Promise<Opened<Revocations>>;
  /** `RECORD_LAST_USED`. Rejects as `openClients`. */
  openLastUsed?(needs: ServiceNeeds): Promise<Opened<LastUsed>>;
  /** What the programs `clients`, `keys` and `migrate` work on. */
  readonly programs?: StoragePrograms;
}

/** What a service gives, and the doctor, which opens the same. */
export interface ServiceNeeds {
  /** Of CLIENTS_FILE. */
  readonly clients: readonly NewClient[];
  /** The path of DATABASE_FILE. */
  readonly file: string;
  readonly database: Omit<ConnectionOptions, 'poolSize'>;
  /** DATABASE_POOL_SIZE. */
  readonly poolSize: number;
  /** Whether this service may change clients: ADMIN_API. */
  readonly changesClients: boolean;
  /** Whether clients may authenticate by more than a secret. */
  readonly usesColumns: boolean;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly pickDecoy: PickDecoy;
  readonly log: StateLog;
}

interface Opened<Port> {
  readonly store: Port;
  readonly dependency: Dependency;
}

/** The clients. What is absent has a default: CLIENT_SECRET_COST for refusals, nothing to close. */
export interface OpenClients {
  readonly clients: ClientRepository;
  /** Calls back with the BCrypt costs of stored secrets, when they are read. Resolves after the first attempt. */
  readonly readCosts?: (onFound: (costs: readonly number[]) => void) => Promise<void>;
  /** Whether secrets may be stored as `{noop}` and plain text. */
  readonly hasPlainSecrets?: boolean;
  readonly dependency?: Dependency;
}

interface Closable {
  close(): Promise<void>;
}

/** Clients and their tokens, to change them. Nothing is opened before the first use. */
export interface ManagedClients {
  /** The connections for changes, where there is a pool. */
  readonly load?: () => PoolLoad;
  /** What keeps this role from changing clients for good; undefined if nothing does, or nobody knows yet. */
  readonly refusal: () => Promise<Problem | undefined>;
  /** @param recorder of one change at a time. */
  with(recorder: ChangeRecorder<ClientChange>): {
    readonly store: ClientStore;
    readonly tokens: ClientTokens;
    readonly lastUsed: LastUsed;
  };
}

export interface StoragePrograms {
  openClients(place: Place): Promise<ManagedClients & Closable>;
  openKeyRing(place: Place, recorder: ChangeRecorder<readonly KeyRingChange[]>): Promise<KeyRingRecords & Closable>;
  /** Fails with what is wrong with the options. */
  migrate(place: Place, options: MigrateOptions): Promise<Result<Migrated, string>>;
}

/** Where a program finds the database. */
interface Place {
  /** The path of DATABASE_FILE. */
  readonly file: string;
  /** DATABASE_URL, or what returns it for each new connection. A secret. */
  readonly url: string | (() => string);
  /** The most connections for changes of clients; one by default. */
  readonly poolSize?: number;
}
