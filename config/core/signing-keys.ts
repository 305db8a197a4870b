import { SIGNATURES_MAX } from '../../adapters/jwt/signing-threads.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import type { MetricValues } from '../../adapters/prom-client/metric-values.ts';
import { KeyRotationTimer } from '../../adapters/system/key-rotation-timer.ts';
import type { KeyRing } from '../../application/keys/key-ring.ts';
import { type KeyRingTimes, keyTimes, problemOfKey } from '../../application/keys/key-ring-report.ts';
import type { HealthCheck } from '../../application/ports/health-check.ts';
import { CLOCK_OFFSET_SECONDS_MAX } from '../../domain/clock-offset.ts';
import { inWords } from '../../domain/problem.ts';
import { KEY_TYPES } from '../../domain/token-key.ts';
import { type Core, PARTS } from '../container.ts';
import type { Feature } from '../feature.ts';
import type { KeyDirectory } from '../features/key-directory.ts';
import type { Settings } from '../settings/settings.ts';

export interface SigningKeys extends Feature {
  readonly ring: KeyRing;
  /** Whether tokens can be verified, also while no key may sign. */
  readonly verification: HealthCheck;
}

/** The keys that sign, and what rotates them: in memory, or in the directory that replicas share. */
export function signingKeys(settings: Settings, core: Core, directory?: KeyDirectory): SigningKeys {
  const ring = core.resolve(PARTS.keyRing);
  const log = createStateLog(core.resolve(PARTS.log));
  const rotation = new KeyRotationTimer(ring, { publicationSeconds: settings.KEY_PUBLICATION_SECONDS, log });
  const threads = core.resolve(PARTS.signingThreads);
  const mayAdd = directory === undefined || core.resolve(PARTS.mayCreate);
  return {
    ring,
    verification: rotation.verification,
    get checks() {
      return mayAdd || isReadOnly(directory) ? [rotation] : [];
    },
    async prepare() {
      if (KEY_TYPES[settings.TOKEN_SIGNING_ALG].kty === 'RSA') threads.start();
      if (mayAdd) await rotation.start();
      else await ring.read().catch(() => {});
      refuseLockedKeys(ring, settings.TOKEN_SIGNING_ALG);
    },
    async close() {
      await rotation.close();
      await threads.close();
    },
    metrics(values) {
      const view = ring.view();
      measureKeys(values, keyTimes(view), { trusted: view.verifying.length, clockOffset: ring.clockOffsetSeconds() });
      values.gauge('auth_signatures_in_progress', threads.inProgress, SIGNATURES_MAX);
    },
  };
}

/** Where no key may be added, the service needs one that is there. */
function isReadOnly(directory: KeyDirectory | undefined): boolean {
  return (
    directory?.checks?.some((check) => {
      const found = check.readiness();
      return found.ready && found.note !== undefined;
    }) === true
  );
}

/**
 * Throws if this replica lacks the secret of the others. A locked key of an algorithm that it does not sign with stops
 * it only where it can open no key at all: somebody else may have left it.
 */
function refuseLockedKeys(ring: KeyRing, algorithm: string): void {
  const canVerify = ring.whyNotVerifying() === undefined;
  const locked = ring.unusable().find((key) => key.state === 'locked' && (!canVerify || key.algorithm === algorithm));
  if (locked === undefined) return;
  const problem = problemOfKey(locked, 'opened');
  throw new Error(`KEY_SECRET_FILE: ${inWords(problem)}`);
}

/** Leaves out what is not known. */
export function measureKeys(
  values: MetricValues,
  times: KeyRingTimes,
  { trusted, clockOffset }: { readonly trusted: number; readonly clockOffset: number | undefined },
): void {
  values.gauge('auth_clock_offset_seconds', clockOffset);
  values.gauge('auth_clock_offset_seconds_max', CLOCK_OFFSET_SECONDS_MAX);
  values.gauge('auth_trusted_keys', trusted);
  values.gauge('auth_signing_key_age_seconds', times.age);
  values.gauge('auth_signing_keys_end_seconds', times.end);
  values.gauge('auth_signing_key_rotation_seconds', times.rotation);
  values.gauge('auth_key_directory_age_seconds', times.directoryAge);
}
