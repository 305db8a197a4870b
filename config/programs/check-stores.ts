import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { inspectRows } from '../../application/client-lookup.ts';
import { type HealthCheck, problemOf } from '../../application/ports/health-check.ts';
import { type Finding, fine } from '../../domain/finding.ts';
import { problemIn } from '../../domain/problem.ts';
import { registerPorts, storage } from '../core/ports.ts';
import { closeFeatures, type Feature } from '../feature.ts';
import { keyDirectory } from '../features/key-directory.ts';
import { openUses } from '../features/private-key-jwt.ts';
import { linesTo } from '../lines-to.ts';
import { type Core, createCore, PARTS } from '../parts.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';
import { databaseTables } from '../storages.ts';

/** What a store is checked by while it is usable, beside its health. */
type Opened = Feature & { readonly inspect?: () => Promise<readonly Finding[]> };

type Open = (configuration: Configuration, core: Core) => Promise<Opened | undefined>;

/**
 * Opens each store that the service would open, as the service does but creates nothing, and returns what its check says: the
 * same that startup fails with, or that `/readyz` has.
 */
export async function checkStores(configuration: Configuration): Promise<readonly Finding[]> {
  const { settings } = configuration;
  const session = settings.CLIENT_REPOSITORY === 'postgres' ? await inspectSessionOf(settings) : undefined;
  // Otherwise each store would have the same fault.
  if (session?.isUsable === false) return session.findings;
  const findings = [...(session?.findings ?? [])];
  const core = createCore();
  const lines = linesTo(() => {});
  registerPorts(core, configuration, lines);
  core.registerInstance(PARTS.mayCreateTables, false);
  for (const open of openersOf(configuration)) {
    const found = await checkStore(() => open(configuration, core));
    findings.push(...found);
    // The other tables come after that of the clients.
    if (found.some(({ code }) => code === CREATED_AT_START)) break;
  }
  return findings;
}

/** The driver is loaded only where it is used. */
async function inspectSessionOf(settings: Settings) {
  const { inspectSession } = await import('../../adapters/postgres/doctor/inspect-session.ts');
  const { connections } = await databaseTables(settings);
  return inspectSession({
    url: settings.DATABASE_URL?.reveal() ?? '',
    hasKeys: settings.KEY_DIRECTORY === 'database',
    connections: connections + settings.DATABASE_POOL_SIZE,
  });
}

function openersOf({ settings }: Configuration): readonly Open[] {
  const { CLIENT_REPOSITORY: repository, CLIENT_AUTHENTICATION_METHODS: methods, DATABASE_FILE: file } = settings;
  // The ring of SQLite is a file that the service makes when it starts.
  const hasRing = repository !== 'sqlite' || existsSync(`${resolve(file ?? '')}.keys`);
  return [
    ...(repository === 'memory' ? [] : [clients]),
    ...(hasRing ? [keyDirectory] : []),
    ...(repository === 'postgres' && methods.includes('private_key_jwt') ? [usedAssertions] : []),
  ];
}

/** The code of a table that the service creates when it starts (`adapters/postgres/table.ts`). */
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

async function usedAssertions({ settings }: Configuration, core: Core): Promise<Feature> {
  const { dependency } = await openUses(settings, core);
  return { checks: [dependency], close: () => dependency.close() };
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
