import type { DependencyContainer } from 'tsyringe';
import type { z } from 'zod';
import type { TableDefinition } from '../adapters/postgres/table.ts';
import type { Inspection } from '../application/ports/inspection.ts';
import type { NewClient } from '../domain/client-registration.ts';
import type { Result } from '../domain/result.ts';
import type { Configuration } from './settings/configuration.ts';
import type { Environment, SettingsGroup, ValuesOf } from './settings/read-environment.ts';
import type { Settings } from './settings/settings.ts';

/** What a capability may read before the service starts. */
export interface Reading<Slice = unknown> {
  readonly environment: Environment;
  /** Undefined if the settings have problems, which are reported anyway. */
  readonly settings: (Settings & Slice) | undefined;
  /** The registrations in memory. */
  readonly clients: readonly NewClient[];
  /** What the file of a setting holds; undefined if the setting is absent. */
  load<Value>(
    setting: string,
    parse: (text: string) => Result<Value, readonly string[]>,
  ): Result<Value | undefined, readonly string[]>;
}

/** The service that a capability adds to. */
export interface Service<Slice = unknown> {
  readonly configuration: Configuration;
  readonly settings: Settings & Slice;
}

/** Replaces parts, in a function for another web server or in a test. What it replaces can still be resolved there. */
export type Override = (container: DependencyContainer) => void;

/** The tables of a capability. */
export interface CapabilityTables {
  /** Which it reads and writes with a pool of its own. */
  readonly inOwnPool?: readonly TableDefinition[];
  /** Connections of that pool, for each replica. */
  readonly connections?: number;
}

/**
 * Something that a setting switches on. Its code is in folders of its name, which the core does not import;
 * docs/capabilities.md says how to remove one.
 */
export interface Capability<Slice = unknown, Own = unknown> {
  readonly name: string;
  /** Its slice of the settings. Nobody else knows their types. */
  readonly settings?: SettingsGroup;
  /** What only it needs beyond the settings, such as the content of a file. Fails with every problem, by the name of the setting. */
  readonly read?: (reading: Reading<Slice>) => Result<Own, readonly string[]>;
  /** Registers its parts, and adds to LISTS. Must not resolve any part. */
  readonly register?: (parts: DependencyContainer, service: Service<Slice>, own: Own) => void | Promise<void>;
  /** Its tables in PostgreSQL with these settings. */
  readonly tables?: (settings: Settings) => Promise<CapabilityTables>;
  /** Those that the service creates when it starts, whatever the settings are: `npm run migrate` creates them too. */
  readonly createdTables?: () => Promise<readonly TableDefinition[]>;
  /** What the doctor looks at. `kid`: the key that it was asked for. */
  readonly inspect?: (
    configuration: Pick<Service<Slice>, 'settings'>,
    own: Own,
    kid: string | undefined,
  ) => readonly Inspection[];
}

/** A capability of the list, whatever it reads for itself. */
export function define<Rows extends z.ZodRawShape = Record<never, z.ZodType>, Own = undefined>(
  capability: Capability<ValuesOf<Rows>, Own> & { readonly settings?: SettingsGroup<Rows> },
): Capability {
  // Its functions get the settings of its own slice, and only what its `read` returned.
  return capability as Capability;
}
