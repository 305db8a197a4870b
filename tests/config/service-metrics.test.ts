import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { container as root } from 'tsyringe';
import { MetricValues } from '../../adapters/prom-client/metric-values.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import { measureService } from '../../config/core/measurements.ts';
import { PARTS } from '../../config/parts.ts';
import { getFrom } from '../../config/registration.ts';
import { readSamples, total } from '../support/read-samples.ts';

const KEYS_AT_FIRST = { trusted: 0, age: undefined, lease: undefined, rotation: undefined, directoryAge: undefined };

/** The metrics of a service that has just started, with a different number for each figure of its queue. */
async function textOf(checks: readonly HealthCheck[], { trusted, ...times }: Record<string, unknown> = KEYS_AT_FIRST) {
  const parts = root.createChildContainer();
  parts.register(PARTS.healthChecks, { useValue: () => checks });
  parts.register(PARTS.bcryptVerifier, { useValue: { costs: [10] } as never });
  parts.register(PARTS.pacedAttempts, { useValue: { size: 5, max: 50 } as never });
  parts.register(PARTS.verificationQueue, {
    useValue: {
      load: { running: 1, fifo: 2, overflow: 3, unanswered: 6 },
      limits: { concurrent: 10, fifoRounds: 2_048, overflow: 30, unanswered: 60, waitMs: 2_000 },
      shares: 4,
    } as never,
  });
  const keys = Array.from({ length: Number(trusted) }, (_, kid) => ({ jwk: { kid } }));
  parts.register(PARTS.verificationSlots, { useValue: {} as never });
  const measured = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: 1 };
  parts.register(PARTS.auditOutput, { useValue: { measured } as never });
  parts.register(PARTS.storage, { useValue: {} as never });
  parts.register(PARTS.signingThreads, { useValue: { waiting: 0 } as never });
  parts.register(PARTS.keyRing, {
    useValue: { clockOffsetSeconds: () => undefined, trusted: () => keys, times: () => times } as never,
  });
  const values = new MetricValues();
  await measureService(getFrom(parts), {
    CLIENT_SECRET_COST: 10,
    CLIENT_AUTHENTICATION_METHODS: ['client_secret_post'],
  } as never)(values);
  return values.text();
}

const samplesOf = async (...args: Parameters<typeof textOf>) => readSamples(await textOf(...args));

const check = (name: string, readiness: Readiness) => ({ name, readiness: () => readiness });

describe('the metrics of the service as a whole', () => {
  it('show how severe the state of each check is, and whether the service is ready', async () => {
    const noted = [
      check('log', { ready: true }),
      check('key directory', { ready: true, note: 'database unavailable (ECONNREFUSED)' }),
    ];
    const failed = [...noted, check('client repository', { ready: false, reason: 'database unavailable' })];
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
    const text = await textOf([check('log', { ready: true, note: 'log lines are lost: ENOSPC' })]);
    expect(text).not.toContain('ENOSPC');
  });

  it('show the bounds of the verification queue beside what is in it', async () => {
    const samples = await samplesOf([]);
    const both = (name: string, labels = {}) => [total(samples, name, labels), total(samples, `${name}_max`, labels)];
    expect(both('auth_secret_verifications_running')).toEqual([1, 10]);
    expect(both('auth_secret_verifications_waiting', { queue: 'overflow' })).toEqual([3, 30]);
    expect(both('auth_secret_verifications_waiting', { queue: 'paced' })).toEqual([5, 50]);
    expect(both('auth_secret_verifications_unanswered')).toEqual([6, 60]);
    expect(both('auth_secret_verification_shares')).toEqual([4, 20_000]);
  });

  it('leave out what is not known: before the first key, without rotation, without a clock to compare with', async () => {
    const names = (await samplesOf([])).map(({ name }) => name);
    expect(
      names.filter((name) => /signing_key|directory_age|clock_offset_seconds$|used_assertions|key_sets/.test(name)),
    ).toEqual([]);
    const known = await samplesOf([], { trusted: 3, age: -5, lease: 3_600, rotation: -1, directoryAge: 7 });
    const value = (name: string) => total(known, name);
    expect(value('auth_trusted_keys')).toBe(3);
    expect(value('auth_signing_key_age_seconds')).toBe(-5);
    expect(value('auth_signing_key_lease_seconds')).toBe(3_600);
    expect(value('auth_signing_key_rotation_seconds')).toBe(-1);
    expect(value('auth_key_directory_age_seconds')).toBe(7);
  });

  it('show the cores and the memory that the service can use', async () => {
    const samples = await samplesOf([]);
    expect(total(samples, 'auth_host_cores')).toBeGreaterThanOrEqual(1);
    expect(total(samples, 'auth_host_memory_bytes')).toBeGreaterThan(2 ** 26);
    expect(total(samples, 'auth_host_memory_bytes')).toBeLessThan(Infinity);
  });
});
