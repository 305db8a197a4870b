import type { HttpTimeouts } from '../../adapters/http/server/http-server.ts';
import type { KeyFile } from '../../adapters/jwt/read-key-file.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import type { Settings } from './settings.ts';

/** Everything that the service needs to know before it starts. */
export interface Configuration {
  readonly settings: Settings;
  /** The registrations of the in-memory repository; none if they are in a database. */
  readonly clients: readonly NewClient[];
  /** The signing key of KEY_FILE; undefined if keys are generated in memory. */
  readonly keyFile: KeyFile | undefined;
  readonly httpTimeouts: HttpTimeouts;
  /** What each capability has read for itself, by its name. */
  readonly own: ReadonlyMap<string, unknown>;
}
