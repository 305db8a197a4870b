import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type DependencyContainer, type InjectionToken, container as root } from 'tsyringe';
import { createJsonLog } from '../../../adapters/log/json-log.ts';
import { MetricValues } from '../../../adapters/prom-client/metric-values.ts';
import type { HealthCheck, Readiness } from '../../../application/ports/health-check.ts';
import { buildService } from '../../../config/build.ts';
import { measureService } from '../../../config/core/measurements.ts';
import { closeFeatures } from '../../../config/feature.ts';
import { createCore, PARTS } from '../../../config/parts.ts';
import { shutdownModes } from '../../../config/run.ts';
import { loadConfiguration } from '../../../config/settings/load-configuration.ts';
import { success } from '../../../domain/result.ts';
import { readSamples, total } from '../../support/read-samples.ts';

const silent = createJsonLog(new Writable({ write: (_chunk, _encoding, done) => done() }));

/** A service in memory; what it opened is closed when the test ends. */
async function build(): Promise<AsyncDisposable & { readonly container: DependencyContainer }> {
  const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };
  const configuration = loadConfiguration(environment, () => success('[]'));
  if (!configuration.ok) throw new Error(configuration.problem.join());
  const given = createCore();
  given.registerInstance(PARTS.log, silent);
  const { core: container, features } = await buildService(configuration.value, { core: given });
  return { container, [Symbol.asyncDispose]: () => closeFeatures(features) };
}

describe('a service that is built', () => {
  /** Those of features that are switched off here. */
  const ABSENT = ['usedAssertions'];
  const names = (Object.keys(PARTS) as (keyof typeof PARTS)[]).filter((name) => !ABSENT.includes(name));

  it('has no part of a feature that is switched off', async () => {
    await using built = await build();
    for (const name of ABSENT) {
      expect(built.container.isRegistered<unknown>(PARTS[name as keyof typeof PARTS], true)).toBe(false);
    }
  });

  it.each(names)('resolves %s by itself', async (name) => {
    await using built = await build();
    const token: InjectionToken<unknown> = PARTS[name];
    const part = built.container.resolve(token);
    expect(part).toBeDefined();
    expect(built.container.resolve(token)).toBe(part);
  });

  it('shares no part with another one', async () => {
    await using one = await build();
    await using other = await build();
    for (const token of [PARTS.keyProvider, PARTS.issueToken]) {
      expect(one.container.resolve<unknown>(token)).not.toBe(other.container.resolve<unknown>(token));
    }
  });
});

const KEYS_AT_FIRST = { trusted: 0, age: undefined, end: undefined, rotation: undefined, directoryAge: undefined };

/** The metrics of a service that has just started, with a different number for each figure of its queue. */
async function textOf(checks: readonly HealthCheck[], { trusted, ...times }: Record<string, unknown> = KEYS_AT_FIRST) {
  const parts = root.createChildContainer();
  parts.register(PARTS.healthChecks, { useValue: () => checks });
  parts.register(PARTS.bcryptVerifier, { useValue: { costs: [10] } as never });
  parts.register(PARTS.verificationQueue, {
    useValue: {
      load: { running: 1, fifo: 2, overflow: 3, unanswered: 6 },
      limits: { concurrent: 10, fifoRounds: 2_048, unanswered: 60, waitMs: 2_000 },
      shares: 4,
    } as never,
  });
  parts.register(PARTS.attempts, { useValue: {} as never });
  parts.register(PARTS.signingThreads, { useValue: { inProgress: 0 } as never });
  const measured = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: 1 };
  parts.register(PARTS.auditOutput, { useValue: { measured } as never });
  parts.register(PARTS.keyRing, {
    useValue: { clockOffsetSeconds: () => undefined, size: trusted, times: () => times } as never,
  });
  const values = new MetricValues();
  await measureService(parts, {
    CLIENT_SECRET_COST: 10,
    CLIENT_AUTHENTICATION_METHODS: ['client_secret_post'],
  } as never)(values);
  return values.text();
}

const samplesOf = async (...args: Parameters<typeof textOf>) => readSamples(await textOf(...args));

const LOST = { code: 'ECONNREFUSED', text: 'database unavailable', fix: 'start it' };

const check = (name: string, readiness: Readiness) => ({ name, readiness: () => readiness });

describe('the metrics of the service as a whole', () => {
  it('show how severe the state of each check is, and whether the service is ready', async () => {
    const noted = [check('log', { ready: true }), check('key directory', { ready: true, note: LOST })];
    const failed = [...noted, check('client repository', { ready: false, reason: LOST })];
    const severities = (samples: Awaited<ReturnType<typeof samplesOf>>) =>
      samples.filter(({ name }) => name === 'auth_check_severity').map(({ labels, value }) => [labels['check'], value]);
    const [degraded, unready] = [await samplesOf(noted), await samplesOf(failed)];
    expect(severities(degraded)).toEqual([
      ['log', 0],
      ['key directory', 1],
    ]);
    expect(severities(unready).at(-1)).toEqual(['client repository', 2]);
    expect([total(degraded, 'auth_ready'), total(unready, 'auth_ready')]).toEqual([1, 0]);
  });

  it('contain no reason and no note of a check', async () => {
    const text = await textOf([
      check('log', { ready: true, note: { code: 'ENOSPC', text: 'log lines are lost: ENOSPC' } }),
    ]);
    expect(text).not.toContain('ENOSPC');
  });

  it('show the bounds of the verification queue beside what is in it', async () => {
    const samples = await samplesOf([]);
    const both = (name: string, labels = {}) => [total(samples, name, labels), total(samples, `${name}_max`, labels)];
    expect(both('auth_secret_verifications_running')).toEqual([1, 10]);
    expect(both('auth_secret_verifications_waiting', { queue: 'overflow' })).toEqual([3, 60]);
    expect(both('auth_secret_verifications_unanswered')).toEqual([6, 60]);
    expect(both('auth_secret_verification_shares')).toEqual([4, 20_000]);
  });

  it('leave out what is not known: before the first key, without rotation, without a clock to compare with', async () => {
    const names = (await samplesOf([])).map(({ name }) => name);
    expect(
      names.filter((name) => /signing_key|directory_age|clock_offset_seconds$|used_assertions|key_sets/.test(name)),
    ).toEqual([]);
    const known = await samplesOf([], { trusted: 3, age: 5, end: 3_600, rotation: 1, directoryAge: 7 });
    const value = (name: string) => total(known, name);
    expect(value('auth_trusted_keys')).toBe(3);
    expect(value('auth_signing_key_age_seconds')).toBe(5);
    expect(value('auth_signing_keys_end_seconds')).toBe(3_600);
    expect(value('auth_signing_key_rotation_seconds')).toBe(1);
    expect(value('auth_key_directory_age_seconds')).toBe(7);
  });

  it('show the cores and the memory that the service can use', async () => {
    const samples = await samplesOf([]);
    expect(total(samples, 'auth_host_cores')).toBeGreaterThanOrEqual(1);
    expect(total(samples, 'auth_host_memory_bytes')).toBeGreaterThan(2 ** 26);
    expect(total(samples, 'auth_host_memory_bytes')).toBeLessThan(Infinity);
  });
});

describe('a process', () => {
  let nowMs: number;
  let modeOf: ReturnType<typeof shutdownModes>;
  beforeEach(() => {
    nowMs = 5_000;
    modeOf = shutdownModes(() => nowMs);
  });

  it('asks for a planned shutdown at SIGTERM, also if it comes again within a second', () => {
    expect(modeOf('SIGTERM')).toBe('planned');
    expect(modeOf('SIGTERM')).toBe('planned');
    nowMs += 999.9;
    expect(modeOf('SIGTERM')).toBe('planned');
  });

  it('asks for an immediate shutdown at a SIGTERM one second after the first, however many came in between', () => {
    modeOf('SIGTERM');
    nowMs += 600;
    modeOf('SIGTERM');
    nowMs += 400;
    expect(modeOf('SIGTERM')).toBe('immediate');
  });

  it('asks for an immediate shutdown at SIGINT, first or right after SIGTERM', () => {
    expect(modeOf('SIGINT')).toBe('immediate');
    expect(modeOf('SIGTERM')).toBe('planned');
    expect(modeOf('SIGINT')).toBe('immediate');
  });
});

describe('the size of the pool of threads', () => {
  const { scripts, bin } = JSON.parse(readFileSync('package.json', 'utf8'));

  /** What starts a process with code of `config/`, by package.json. */
  const ENTRY_POINTS = [...Object.values<string>(scripts), bin.ccauth.replace(/^dist\/(.*)\.js$/, 'node $1.ts')]
    .flatMap((command) => /node .*?(config\/[\w-]+\.ts)/.exec(command)?.[1] ?? [])
    .toSorted();

  it.each(ENTRY_POINTS)('is set by the first import of %s: it counts only before the first use of the pool', (file) => {
    const [first] = readFileSync(file, 'utf8').match(/^import .*$/m) ?? [];
    expect(first).toBe("import './thread-pool-size.ts';");
  });

  it('is set by every program', () => {
    expect(ENTRY_POINTS.map((file) => file.slice('config/'.length, -'.ts'.length))).toEqual([
      'clients',
      'demo',
      'doctor',
      'health-check',
      'keys',
      'locations',
      'main',
      'migrate',
      'program',
    ]);
  });
});
