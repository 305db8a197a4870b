import { Gauge, type Registry } from '@prometheus-io/client';

/** The keys, in seconds; undefined where there is nothing to tell. */
export interface MeasuredKeys {
  /** Keys of this service, and of other replicas, with which a token may have been signed that is valid. */
  readonly trusted: number;
  readonly age: number | undefined;
  readonly lease: number | undefined;
  readonly rotation: number | undefined;
  readonly directoryAge: number | undefined;
}

/** Registers the metrics of the keys that are known. */
export function addKeyGauges(registry: Registry, keys: MeasuredKeys): void {
  const gauge = (name: string, help: string, value: number | undefined) => {
    if (value !== undefined) new Gauge({ name, help, registers: [registry] }).set(value);
  };
  gauge('auth_trusted_keys', 'Public keys that tokens are verified with, of all replicas.', keys.trusted);
  gauge('auth_signing_key_age_seconds', 'Seconds since the key began to sign; negative until it does.', keys.age);
  gauge(
    'auth_signing_key_lease_seconds',
    'Seconds until the key may not sign any more, if the key directory does not answer.',
    keys.lease,
  );
  gauge(
    'auth_signing_key_rotation_seconds',
    'Seconds until the next key is due to sign; negative if it is late.',
    keys.rotation,
  );
  gauge('auth_key_directory_age_seconds', 'Seconds since the key directory was read.', keys.directoryAge);
}
