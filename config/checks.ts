import { CONNECTIONS_MAX } from '../adapters/http/server/http-server.ts';
import { connectionsInMemory } from '../adapters/system/host-limits.ts';
import {
  inspectKeyFile,
  inspectKeySecretFile,
  inspectMemory,
  inspectOpenFiles,
  inspectWritableFile,
} from '../adapters/system/inspect-host.ts';
import { ownersProblems, replaceableFiles } from '../adapters/system/read-text-file.ts';
import type { Finding } from '../domain/finding.ts';
import type { Problem } from '../domain/problem.ts';
import type { Configuration } from './settings/configuration.ts';
import { openFilesPlan } from './settings/derived-values.ts';
import type { Environment } from './settings/read-environment.ts';
import { OWNERS_FILES, settingWarnings } from './settings/settings.ts';

/** The checks that need nothing open, by their names in the report of the doctor. */
export interface ChecksBeforeStart {
  readonly settings: readonly Finding[];
  readonly memory: readonly Finding[];
  readonly 'open files': readonly Finding[];
  /**
   * Whether others can read the files of keys; undefined for each without a setting. Who may write is checked for all
   * files together.
   */
  readonly 'key file'?: readonly Finding[];
  readonly 'key secret'?: readonly Finding[];
  readonly 'tls key'?: readonly Finding[];
  /** Whether audit lines can be written; undefined without the setting. */
  readonly 'audit file'?: readonly Finding[];
}

/**
 * What startup and the doctor look at before anything is opened, and change nothing. With a problem the service does
 * not start; of the notes it logs those about settings, keys and memory.
 */
export function checksBeforeStart({ settings }: Configuration, environment: Environment): ChecksBeforeStart {
  const { KEY_FILE: keyFile, KEY_SECRET_FILE: secret, AUDIT_FILE: audit, TLS_KEY_FILE: tlsKey } = settings;
  const owners = ownersProblems(OWNERS_FILES, environment);
  const replaceable = replaceableFiles(OWNERS_FILES, environment);
  const warnings = [...replaceable, ...settingWarnings(environment)];
  const connections = Math.min(CONNECTIONS_MAX, connectionsInMemory('plain'));
  return {
    settings: [
      ...owners.map((problem): Finding => ({ state: 'problem', ...problem })),
      ...warnings.map((warning): Finding => ({ state: 'note', ...warning })),
    ],
    memory: inspectMemory(),
    'open files': inspectOpenFiles(openFilesPlan(settings), connections),
    ...(keyFile !== undefined && { 'key file': inspectKeyFile(keyFile, 'forge tokens') }),
    ...(secret !== undefined && { 'key secret': inspectKeySecretFile(secret) }),
    ...(tlsKey !== undefined && { 'tls key': inspectKeyFile(tlsKey, 'pose as this service') }),
    ...(audit !== undefined && { 'audit file': inspectWritableFile('AUDIT_FILE', audit) }),
  };
}

/** What keeps the service from starting. */
export function problemsOf(found: ChecksBeforeStart): readonly Problem[] {
  const all = Object.values(found).flat();
  return all.flatMap(({ state, code = 'problem', ...more }) => (state === 'problem' ? { code, ...more } : []));
}

/** What is probably a mistake, about settings and the files of keys: `SETTING: what: what to do`. */
export function warningsIn(found: ChecksBeforeStart): readonly Finding[] {
  const named = (setting: string, findings: readonly Finding[] = []) =>
    findings.map((finding) => ({ ...finding, text: `${setting}: ${finding.text}` }));
  const keys = [
    ...named('KEY_FILE', found['key file']),
    ...named('KEY_SECRET_FILE', found['key secret']),
    ...named('TLS_KEY_FILE', found['tls key']),
  ];
  return [...found.settings, ...keys].filter(({ state }) => state === 'note');
}
