import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { createJsonLog } from '../../../adapters/log/json-log.ts';
import { type Measure, MetricValues } from '../../../adapters/prom-client/metric-values.ts';
import type { Readiness } from '../../../application/ports/health-check.ts';
import { buildService, type Given, type Service } from '../../../config/build.ts';
import { createCore, PARTS } from '../../../config/container.ts';
import { measureHealth } from '../../../config/core/health.ts';
import { measureKeys } from '../../../config/core/signing-keys.ts';
import { closeFeatures } from '../../../config/feature.ts';
import { shutdownModes } from '../../../config/run.ts';
import { loadConfiguration } from '../../../config/settings/load-configuration.ts';
import { success } from '../../../domain/result.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { problemsIn } from '../../support/problems.ts';
import { readSamples, total } from '../../support/read-samples.ts';

const silent = createJsonLog({ write: () => {} });

/** A service in memory, with its ports closed. */
function build(given: Given = {}): Promise<Service> {
  const configuration = loadConfiguration({ CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' }, () =>
    success('[]'),
  );
  if (!configuration.ok) throw new Error(problemsIn(configuration).join());
  const { core = createCore() } = given;
  core.registerInstance(PARTS.log, silent);
  return buildService(configuration.value, { ...given, core });
}

describe('a service that is built', () => {
  it('shares no part with another one', async () => {
    const services = [await build(), await build()] as const;
    const [one, other] = services.map(({ core }) => [core.resolve(PARTS.keyProvider), core.resolve(PARTS.issueToken)]);
    expect(one?.[0]).not.toBe(other?.[0]);
    expect(one?.[1]).not.toBe(other?.[1]);
    for (const { features } of services) await closeFeatures(features);
  });

  it('takes a port that was registered before', async () => {
    const core = createCore();
    const clock = new FixedClock();
    core.registerInstance(PARTS.clock, clock);
    const service = await build({ core });
    expect(service.core.resolve(PARTS.clock)).toBe(clock);
    await closeFeatures(service.features);
  });

  it('closes what it has opened, in reverse, where something cannot be built', async () => {
    const closed: string[] = [];
    const features = ['first', 'second'].map((name) => ({ close: async () => void closed.push(name) }));
    const createServer = () => {
      throw new Error('no server');
    };
    await expect(build({ features, createServer })).rejects.toThrow('no server');
    expect(closed).toEqual(['second', 'first']);
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
    const core = createCore();
    core.registerInstance(PARTS.verificationQueue, queue as never);
    const { features } = await build({ core });
    const samples = readSamples((await core.resolve(PARTS.processMetrics).exposition()).text);
    await closeFeatures(features);
    const both = (name: string, labels = {}) => [total(samples, name, labels), total(samples, `${name}_max`, labels)];
    expect(both('auth_secret_verifications_running')).toEqual([1, 10]);
    expect(both('auth_secret_verifications_waiting', { queue: 'overflow' })).toEqual([3, 60]);
    expect(both('auth_secret_verifications_unanswered')).toEqual([6, 60]);
    expect(both('auth_secret_verification_shares')).toEqual([4, 20_000]);
  });

  it('leave out what is not known: before the first key, without rotation, without a clock to compare with', async () => {
    const unknown = { age: undefined, end: undefined, rotation: undefined, directoryAge: undefined };
    const atFirst = await samplesOf((values) => measureKeys(values, unknown, { trusted: 0, clockOffset: undefined }));
    const names = atFirst.map(({ name }) => name);
    expect(names.filter((name) => /signing_key|directory_age|clock_offset_seconds$/.test(name))).toEqual([]);
    const times = { age: 5, end: 3_600, rotation: 1, directoryAge: 7 };
    const known = await samplesOf((values) => measureKeys(values, times, { trusted: 3, clockOffset: undefined }));
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
