import { InMemoryKeyRing } from '../../adapters/memory/in-memory-key-ring.ts';
import { KeyRing } from '../../application/keys/key-ring.ts';
import type { AuditLog } from '../../application/ports/audit-log.ts';
import type { MonotonicClock } from '../../application/ports/clock.ts';
import type { KeyFactory } from '../../application/ports/key-provider.ts';
import type { KeyRingStore } from '../../application/ports/key-ring-store.ts';
import type { KeySealer } from '../../application/ports/key-sealer.ts';
import type { KeyPolicy } from '../../domain/key-chain.ts';
import { FixedClock } from './fixed-clock.ts';
import { InMemoryAuditLog } from './in-memory-audit-log.ts';
import { pooledKeyFactory } from './pooled-key-factory.ts';

interface KeyRingOptions extends Partial<KeyPolicy> {
  readonly clock?: MonotonicClock;
  readonly factory?: Pick<KeyFactory, 'make'>;
  /** What replicas share, in place of a ring in memory. */
  readonly shared?: KeyRingStore & KeySealer;
  readonly auditLog?: AuditLog;
  /** Waits. By default no time passes: neither does it by a fixed clock. */
  readonly pause?: (seconds: number) => Promise<unknown>;
}

/**
 * A key ring with its first key, built from the real parts, with keys of a pool. In memory and without rotation by
 * default.
 */
export async function freshKeyRing(options: KeyRingOptions = {}): Promise<KeyRing> {
  const ring = unstartedKeyRing(options);
  await ring.advance();
  return ring;
}

export function unstartedKeyRing({
  clock = new FixedClock(),
  factory = pooledKeyFactory(),
  shared = new InMemoryKeyRing(factory, clock),
  auditLog = new InMemoryAuditLog(),
  pause = () => new Promise(setImmediate),
  ...policy
}: KeyRingOptions = {}): KeyRing {
  const defaults = { rotationSeconds: Infinity, publicationSeconds: 60, tokenLifetimeSeconds: 300 };
  const complete: KeyPolicy = { algorithm: 'RS256', ...defaults, ...policy };
  return new KeyRing({ store: shared, sealer: shared, policy: complete, clock, auditLog, pause });
}
