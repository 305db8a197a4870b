import { type NamedFinding, runDoctor } from '../../adapters/cli/doctor/run-doctor.ts';
import type { TerminalStreams } from '../../adapters/cli/terminal.ts';
import { LIFECYCLE } from '../../adapters/http/server/running-server.ts';
import { askRunningService } from '../../adapters/http-client/management-port.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { type CheckState, statesOf } from '../../application/ports/health-check.ts';
import { type Finding, fine, note, problem } from '../../domain/finding.ts';
import { problemIn } from '../../domain/problem.ts';
import { buildService } from '../build.ts';
import { checksBeforeStart } from '../checks.ts';
import { containerToRead } from '../container.ts';
import { closeFeatures } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';
import { loadConfiguration } from '../settings/load-configuration.ts';
import type { Environment } from '../settings/read-environment.ts';
import type { Settings } from '../settings/settings.ts';

/** `npm run doctor`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function inspectService(
  args: readonly string[],
  streams: TerminalStreams,
  environment: Environment,
): Promise<number> {
  return runDoctor(args, streams, { inspect: () => inspect(environment), version: programVersion() });
}

const RULES = 'docs/settings.md has the rule; correct this first, then run the doctor again';

/** What startup and `/readyz` check, for an environment. With problems in its settings, nothing else is looked at. */
async function inspect(environment: Environment): Promise<readonly NamedFinding[]> {
  const named = (name: string, findings: readonly Finding[]) => findings.map((finding) => ({ name, ...finding }));
  const loaded = loadConfiguration(environment, readTextFile);
  if (!loaded.ok) {
    return named(
      'settings',
      loaded.problem.map(({ text, fix = RULES }) => problem(text, fix)),
    );
  }
  const { settings } = loaded.value;
  const before = Object.entries(checksBeforeStart(loaded.value, environment));
  const running = await askRunningService(settings.MANAGEMENT_HOST, settings.MANAGEMENT_PORT);
  return [
    ...named('settings', [fine(inShort(settings))]),
    ...before.flatMap(([name, findings]) => named(name, findings)),
    ...(await checkParts(loaded.value)),
    ...named('running service', describeRunning(running, settings.MANAGEMENT_PORT)),
  ];
}

function inShort({ CLIENT_REPOSITORY, TOKEN_SIGNING_ALG, KEY_DIRECTORY, BASE_URL, TOKEN_ISSUER }: Settings): string {
  const keys = `keys for ${TOKEN_SIGNING_ALG} in ${KEY_DIRECTORY}`;
  return `registrations in ${CLIENT_REPOSITORY}, ${keys}, BASE_URL ${BASE_URL}, issuer ${TOKEN_ISSUER}`;
}

/** The code of a table that the service creates when it starts (`adapters/postgres/table-probe.ts`). */
const CREATED_AT_START = 'table_created_at_start';

/**
 * Builds the service as startup does, but opens no port and creates nothing, and returns what its checks say, and its
 * warnings.
 */
export async function checkParts(configuration: Configuration): Promise<readonly NamedFinding[]> {
  const warnings: NamedFinding[] = [];
  const core = containerToRead(configuration, (line) => warnings.push(...warningIn(line)));
  try {
    const { features, checks } = await buildService(configuration, { core });
    try {
      for (const { prepare } of features) await prepare?.();
      const states = statesOf(checks().filter(({ name }) => name !== LIFECYCLE));
      return [...states.map((state) => ({ name: state.name, ...findingOf(state) })), ...warnings];
    } finally {
      await closeFeatures(features);
    }
  } catch (fault) {
    const found = problemIn(fault) ?? { code: 'fault', text: String(Object(fault).message) };
    const state = found.code === CREATED_AT_START ? ('note' as const) : ('problem' as const);
    return [...warnings, { name: 'startup', ...found, state }];
  }
}

/** What startup logs about an operator's set-up. Faults have a check. */
function warningIn(line: string): readonly NamedFinding[] {
  const { level, time, event, fix, ...more } = JSON.parse(line);
  return level === 'warn' ? [{ name: 'log', ...note(`${event}: ${JSON.stringify(more)}`, fix) }] : [];
}

function findingOf(check: CheckState): Finding {
  if (!check.ready) return problem(check.reason, check.fix);
  return check.note === undefined ? fine('the service can use it') : note(check.note, check.fix);
}

/** What the service that runs says about itself. */
function describeRunning(checks: readonly CheckState[] | undefined, port: number): readonly Finding[] {
  if (checks === undefined) return [fine(`no service answers on MANAGEMENT_PORT ${port}: it does not run here`)];
  const found = checks.filter((check) => !check.ready || check.note !== undefined);
  if (found.length === 0) return [fine('it is ready')];
  return found.map((check) => {
    const { text, ...finding } = findingOf(check);
    // It is starting, or about to end.
    const isPassing = check.name === LIFECYCLE && finding.state === 'problem';
    return { ...finding, ...(isPassing && { state: 'note' as const }), text: `${check.name}: ${text}` };
  });
}
