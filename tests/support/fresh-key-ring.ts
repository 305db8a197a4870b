import { InMemoryKeyDirectory } from '../../adapters/memory/in-memory-key-directory.ts';
import { KeyRing } from '../../application/keys/key-ring.ts';
import type { AuditLog } from '../../application/ports/audit-log.ts';
import type { MonotonicClock } from '../../application/ports/clock.ts';
import type { KeyDirectory } from '../../application/ports/key-directory.ts';
import type { KeyFactory } from '../../application/ports/key-provider.ts';
import { KeySchedule, type KeyTimes } from '../../domain/key-schedule.ts';
import { FixedClock } from './fixed-clock.ts';
import { InMemoryAuditLog } from './in-memory-audit-log.ts';
import { pooledKeyFactory } from './pooled-key-factory.ts';

interface KeyRingOptions extends Partial<KeyTimes> {
  readonly clock?: MonotonicClock;
  readonly factory?: KeyFactory;
  readonly directory?: KeyDirectory;
  readonly auditLog?: AuditLog;
}

/** A key ring with its first key, built from the real parts, with keys of a pool. In memory and without rotation by default. */
export async function freshKeyRing(options: KeyRingOptions = {}): Promise<KeyRing> {
  const ring = unstartedKeyRing(options);
  await ring.advance();
  return ring;
}

export function unstartedKeyRing({
  clock = new FixedClock(),
  factory = pooledKeyFactory(),
  directory = new InMemoryKeyDirectory(clock),
  auditLog = new InMemoryAuditLog(),
  ...times
}: KeyRingOptions = {}): KeyRing {
  const schedule = new KeySchedule({
    rotationSeconds: 0,
    publicationSeconds: 60,
    tokenLifetimeSeconds: 300,
    ...times,
  });
  return new KeyRing({
    factory,
    directory,
    schedule,
    clock,
    auditLog,
  });
}
