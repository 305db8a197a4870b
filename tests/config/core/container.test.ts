import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { InjectionToken } from 'tsyringe';
import { createJsonLog } from '../../../adapters/log/json-log.ts';
import { type Measure, MetricValues } from '../../../adapters/prom-client/metric-values.ts';
import type { Readiness } from '../../../application/ports/health-check.ts';
import { buildService } from '../../../config/build.ts';
import { measureHealth } from '../../../config/core/health.ts';
import { measureKeys } from '../../../config/core/signing-keys.ts';
import { closeFeatures } from '../../../config/feature.ts';
import { type Core, createCore, PARTS } from '../../../config/parts.ts';
import { shutdownModes } from '../../../config/run.ts';
import { loadConfiguration } from '../../../config/settings/load-configuration.ts';
import { success } from '../../../domain/result.ts';
import { problemsIn } from '../../support/problems.ts';
import { readSamples, total } from '../../support/read-samples.ts';

const silent = createJsonLog(new Writable({ write: (_chunk, _encoding, done) => done() }));

/** A service in memory; what it opened is closed when the test ends. */
async function build(replace: (core: Core) => void = () => {}): Promise<AsyncDisposable & { readonly core: Core }> {
  const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };
  const configuration = loadConfiguration(environment, () => success('[]'));
  if (!configuration.ok) throw new Error(problemsIn(configuration).join());
  const core = createCore();
  core.registerInstance(PARTS.log, silent);
  replace(core);
  const { features } = await buildService(configuration.value, { core });
  return { core, [Symbol.asyncDispose]: () => closeFeatures(features) };
}

describe('a service that is built', () => {
  /** Those of features that are switched off here. */
  const ABSENT = ['assertionQueue', 'usedAssertions', 'verifyAssertion'];
  const names = (Object.keys(PARTS) as (keyof typeof PARTS)[]).filter((name) => !ABSENT.includes(name));

  it('has no part of a feature that is switched off', async () => {
    await using built = await build();
    for (const name of ABSENT) {
      expect(built.core.isRegistered<unknown>(PARTS[name as keyof typeof PARTS], true)).toBe(false);
    }
  });

  it.each(names)('resolves %s by itself', async (name) => {
    await using built = await build();
    const token: InjectionToken<unknown> = PARTS[name];
    const part = built.core.resolve(token);
    expect(part).toBeDefined();
    expect(built.core.resolve(token)).toBe(part);
  });

  it('shares no part with another one', async () => {
    await using one = await build();
    await using other = await build();
    for (const token of [PARTS.keyProvider, PARTS.issueToken]) {
      expect(one.core.resolve<unknown>(token)).not.toBe(other.core.resolve<unknown>(token));
    }
  });
});

/** What these measure, in the text format of Prometheus. */
async function textOf(...measures: readonly Measure[]): Promise<string> {
  const values = new MetricValues();
  for (const measure of measures) await measure(values);
  return values.text();
}

const samplesOf = async (measure: Measure) => readSamples(await textOf(measure));

const LOST = { code: 'ECONNREFUSED', text: 'database unavailable', fix: 'start it' };

const check = (name: string, readiness: Readiness) => ({ name, readiness: () => readiness });

describe('the metrics of the service as a whole', () => {
  it('show how severe the state of each check is, and whether the service is ready', async () => {
    const noted = [check('log', { ready: true }), check('key directory', { ready: true, note: LOST })];
    const failed = [...noted, check('client repository', { ready: false, reason: LOST })];
    const severities = (samples: ReturnType<typeof readSamples>) =>
      samples.filter(({ name }) => name === 'auth_check_severity').map(({ labels, value }) => [labels['check'], value]);
    const [degraded, unready] = [
      await samplesOf(measureHealth(() => noted)),
      await samplesOf(measureHealth(() => failed)),
    ];
    expect(severities(degraded)).toEqual([
      ['log', 0],
      ['key directory', 1],
    ]);
    expect(severities(unready).at(-1)).toEqual(['client repository', 2]);
    expect([total(degraded, 'auth_ready'), total(unready, 'auth_ready')]).toEqual([1, 0]);
  });

  it('contain no reason and no note of a check', async () => {
    const noted = check('log', { ready: true, note: { code: 'ENOSPC', text: 'log lines are lost: ENOSPC' } });
    const text = await textOf(measureHealth(() => [noted]));
    expect(text).not.toContain('ENOSPC');
  });

  it('show the bounds of the verification queue beside what is in it', async () => {
    const queue = {
      load: { running: 1, fifo: 2, overflow: 3, unanswered: 6 },
      limits: { concurrent: 10, fifoRounds: 2_048, unanswered: 60, waitMs: 2_000 },
      shares: 4,
    };
    await using built = await build((core) => core.registerInstance(PARTS.verificationQueue, queue as never));
    const samples = readSamples((await built.core.resolve(PARTS.processMetrics).exposition()).text);
    const both = (name: string, labels = {}) => [total(samples, name, labels), total(samples, `${name}_max`, labels)];
    expect(both('auth_secret_verifications_running')).toEqual([1, 10]);
    expect(both('auth_secret_verifications_waiting', { queue: 'overflow' })).toEqual([3, 60]);
    expect(both('auth_secret_verifications_unanswered')).toEqual([6, 60]);
    expect(both('auth_secret_verification_shares')).toEqual([4, 20_000]);
  });

  it('leave out what is not known: before the first key, without rotation, without a clock to compare with', async () => {
    const unknown = { age: undefined, end: undefined, rotation: undefined, directoryAge: undefined };
    const ring = (times: typeof unknown | Record<string, number>, size: number) =>
      ({ clockOffsetSeconds: () => undefined, size, times: () => times }) as never;
    const atFirst = await samplesOf((values) => measureKeys(ring(unknown, 0), values));
    const names = atFirst.map(({ name }) => name);
    expect(names.filter((name) => /signing_key|directory_age|clock_offset_seconds$/.test(name))).toEqual([]);
    const times = { age: 5, end: 3_600, rotation: 1, directoryAge: 7 };
    const known = await samplesOf((values) => measureKeys(ring(times, 3), values));
    const value = (name: string) => total(known, name);
    expect(value('auth_trusted_keys')).toBe(3);
    expect(value('auth_signing_key_age_seconds')).toBe(5);
    expect(value('auth_signing_keys_end_seconds')).toBe(3_600);
    expect(value('auth_signing_key_rotation_seconds')).toBe(1);
    expect(value('auth_key_directory_age_seconds')).toBe(7);
  });

  it('show the cores and the memory that the service can use', async () => {
    const samples = await samplesOf(measureHealth(() => []));
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
      'main',
      'migrate',
      'program',
    ]);
  });
});
