import type { DependencyContainer } from 'tsyringe';
import { type RunningServer, startServer } from '../adapters/http/server/running-server.ts';
import { inspectKeyFile, inspectKeySecretFile, inspectMemory } from '../adapters/system/inspect-host.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import { findSharedPort, type SharedPort } from '../adapters/system/shared-port.ts';
import { NO_CLIENT } from '../application/client-lookup.ts';
import { problemOf } from '../application/ports/health-check.ts';
import type { Finding } from '../application/ports/inspection.ts';
import { LISTS, PARTS } from './parts.ts';
import { getFrom } from './registration.ts';
import { hostHint } from './settings/platform.ts';
import type { Environment } from './settings/read-environment.ts';
import { settingDoubts } from './settings/setting-doubts.ts';
import type { Settings } from './settings/settings.ts';

/**
 * Opens the ports, and starts what runs in the background. Rejects, with nothing left open, where a port is not available.
 *
 * @param environment what the settings were read from, to report what is doubtful in it.
 */
export function startProcess(
  container: DependencyContainer,
  settings: Settings,
  environment: Environment,
): Promise<RunningServer> {
  const { HOST: host, MANAGEMENT_HOST, MANAGEMENT_PORT } = settings;
  const { SHUTDOWN_GRACE_MS: graceMs, SHUTDOWN_DRAIN_MS: drainMs } = settings;
  const get = getFrom(container);
  const [log, audit] = [get(PARTS.log), get(PARTS.auditOutput)];
  let port: SharedPort = { port: settings.PORT, reusePort: false };
  const memory = inspectMemory().filter(({ state }) => state === 'problem');
  for (const { text, fix } of memory) log.warn({ event: 'memory_too_small', problem: text, fix });
  const hint = hostHint(environment);
  const doubts = [...settingDoubts(environment), ...doubtsAboutKey(settings)];
  return startServer({
    management:
      MANAGEMENT_PORT === 0
        ? undefined
        : { server: get(PARTS.managementServer), host: MANAGEMENT_HOST, port: MANAGEMENT_PORT },
    listener: () => ({ server: get(PARTS.httpServer), host, ...port }),
    publish: async () => {
      const findPort = async () => {
        if (settings.PORT !== 0) port = await findSharedPort(host, settings.PORT);
      };
      // Before the keys: a start that fails must leave none in a shared ring.
      await findPort();
      await Promise.all([startKeys(container), ...get.all(LISTS.preparations).map((prepare) => prepare())]);
      // Once more: a service that has begun to listen since then would share the port, and each would refuse the other's tokens.
      await findPort();
      for (const start of get.all(LISTS.background)) start();
    },
    lifecycle: get(PARTS.lifecycle),
    graceMs,
    drainMs,
    endWaits: () => {
      for (const part of [PARTS.verificationQueue, PARTS.assertionQueue]) get(part).close();
    },
    closables: [audit, ...get(PARTS.dependencies), ...get.all(LISTS.closables)],
    reopenFiles:
      audit.reopen !== undefined || get.all(LISTS.reloads).length > 0 ? () => reopenFiles(container) : undefined,
    log: (event, address) => {
      log.info({ event, ...address, ...(event === 'started' && { version: programVersion() }) });
      if (event !== 'started') return;
      if (hint !== undefined) log.warn({ event: 'host_not_set', hint });
      for (const doubt of doubts) log.warn({ event: 'setting_doubtful', hint: doubt });
      const notes = get(PARTS.dependencies).map((dependency) => problemOf(dependency.readiness()));
      const isEmpty = notes.some((note) => note?.code === NO_CLIENT.code);
      if (isEmpty) log.warn({ event: NO_CLIENT.code, hint: NO_CLIENT.text });
    },
  });
}

/** Rejects if a key of the ring, which replicas sign or verify with, needs a secret that this one does not have. */
async function startKeys(container: DependencyContainer): Promise<void> {
  const get = getFrom(container);
  await get(PARTS.keyRotation).start();
  const locked = get(PARTS.keyRing)
    .unusable()
    .find(({ state }) => state === 'locked');
  if (locked === undefined) return;
  const problem = `KEY_SECRET_FILE: the key ${locked.kid} cannot be opened: ${locked.reason}`;
  throw new Error(`${problem}: bring that line back, or revoke the key: npm run keys -- revoke -- ${locked.kid}`);
}

function doubtsAboutKey({ KEY_FILE, KEY_SECRET_FILE }: Settings): readonly string[] {
  const key = KEY_FILE === undefined ? [] : inspectKeyFile(KEY_FILE, 'forge tokens');
  const secret = KEY_SECRET_FILE === undefined ? [] : inspectKeySecretFile(KEY_SECRET_FILE);
  const doubts = (setting: string, findings: readonly Finding[]) =>
    findings.flatMap(({ state, text, fix }) => (state === 'note' ? [`${setting}: ${text}: ${fix}`] : []));
  return [...doubts('KEY_FILE', key), ...doubts('KEY_SECRET_FILE', secret)];
}

/** Opens AUDIT_FILE again, and reads what else SIGHUP is about. What was not possible is in the log. */
async function reopenFiles(container: DependencyContainer): Promise<void> {
  const get = getFrom(container);
  for (const reload of get.all(LISTS.reloads)) reload();
  const { reopen } = get(PARTS.auditOutput);
  if (reopen === undefined) return;
  try {
    await reopen();
    get(PARTS.log).info({ event: 'audit_file_reopened' });
  } catch (fault) {
    get(PARTS.log).error({ event: 'audit_file_not_reopened', fault });
  }
}
