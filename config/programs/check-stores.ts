import { inspectRows } from '../../application/inspect-clients.ts';
import { OpenedKeys } from '../../application/keys/opened-keys.ts';
import { type HealthCheck, problemOf } from '../../application/ports/health-check.ts';
import { recordsUses } from '../../domain/authentication-method.ts';
import { type Finding, fine } from '../../domain/finding.ts';
import { problemIn } from '../../domain/problem.ts';
import { portsToRead } from '../core/ports.ts';
import { problemOfLockedKey } from '../core/signing-keys.ts';
import { needsOf, storage } from '../core/storage.ts';
import { closeFeatures, type Feature } from '../feature.ts';
import { keyDirectory } from '../features/key-directory.ts';
import { type Core, PARTS } from '../parts.ts';
import type { Configuration } from '../settings/configuration.ts';
import { openStorage } from '../storages.ts';

/** What a store is checked by while it is usable, beside its health. */
type Opened = Feature & { readonly inspect?: () => Promise<readonly Finding[]> };

type Open = (configuration: Configuration, core: Core) => Promise<Opened | undefined>;

/**
 * Opens each store that the service would open, as the service does but creates nothing, and returns what its check says: the
 * same that startup fails with, or that `/readyz` has.
 */
export async function checkStores(configuration: Configuration): Promise<readonly Finding[]> {
  const { settings } = configuration;
  const core = portsToRead(configuration);
  const { inspect } = await openStorage(settings);
  const session = await inspect?.(needsOf(configuration, core), settings.KEY_DIRECTORY === 'database');
  const findings = [...(session?.findings ?? [])];
  if (session?.isUsable === false) return findings;
  for (const open of openersOf(configuration)) {
    const found = await checkStore(() => open(configuration, core));
    findings.push(...found);
    // The other tables come after that of the clients.
    if (found.some(({ code }) => code === CREATED_AT_START)) break;
  }
  return findings;
}

function openersOf({ settings }: Configuration): readonly Open[] {
  const { CLIENT_REPOSITORY: repository, CLIENT_AUTHENTICATION_METHODS: methods } = settings;
  return [...(repository === 'memory' ? [] : [clients]), keys, ...(recordsUses(methods) ? [usedAssertions] : [])];
}

/** The code of a table that the service creates when it starts (`adapters/postgres/table-probe.ts`). */
const CREATED_AT_START = 'table_created_at_start';

/** A store that the service writes to works on a standby for a while: /readyz has a note, and the operator a problem. */
const READ_ONLY = '25006';

async function clients(configuration: Configuration, core: Core): Promise<Opened> {
  const feature = await storage(configuration, core);
  const { listRows = async () => [] } = core.resolve(PARTS.storage);
  const now = () => core.resolve(PARTS.clock).now();
  const { TOKEN_LIFETIME_SECONDS: lifetime } = configuration.settings;
  // What keeps them from being read, the health of the storage says.
  return { ...feature, inspect: async () => inspectRows(await listRows().catch(() => []), now(), lifetime) };
}

async function keys(configuration: Configuration, core: Core): Promise<Opened | undefined> {
  const directory = await keyDirectory(configuration, core);
  if (directory === undefined) return undefined;
  const opened = new OpenedKeys(directory.sealer);
  return {
    ...directory,
    async inspect() {
      // Where there is no ring yet, or it cannot be read, its health says so.
      const read = await directory.store.read().catch(() => ({ rows: [], time: undefined }));
      await opened.replace(read.rows, read.time ?? core.resolve(PARTS.clock).now());
      const locked = problemOfLockedKey(opened.unusable);
      return locked === undefined ? [] : [{ state: 'problem', ...locked }];
    },
  };
}

async function usedAssertions(configuration: Configuration, core: Core): Promise<Feature | undefined> {
  const { openUsedAssertions } = await openStorage(configuration.settings);
  const opened = await openUsedAssertions?.(needsOf(configuration, core, 'used assertions'));
  return opened && { checks: [opened.dependency], close: () => opened.dependency.close() };
}

async function checkStore(open: () => Promise<Opened | undefined>): Promise<readonly Finding[]> {
  try {
    const feature = await open();
    if (feature === undefined) return [];
    const findings = (feature.checks ?? []).map(findingOf);
    const isUsable = findings.every(({ state }) => state !== 'problem');
    if (isUsable) findings.push(...((await feature.inspect?.()) ?? []));
    await closeFeatures([feature]);
    return findings;
  } catch (fault) {
    const problem = problemIn(fault);
    if (problem === undefined) throw fault;
    return [{ state: problem.code === CREATED_AT_START ? 'note' : 'problem', ...problem }];
  }
}

function findingOf(check: HealthCheck): Finding {
  const readiness = check.readiness();
  const problem = problemOf(readiness);
  if (problem === undefined) return fine(`${check.name}: the service can use it`);
  const isNote = readiness.ready && problem.code !== READ_ONLY;
  return { state: isNote ? 'note' : 'problem', ...problem, text: `${check.name}: ${problem.text}` };
}
