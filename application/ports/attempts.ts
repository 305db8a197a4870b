/**
 * How many attempts of a client id may fail at one network, in a while. Neither method fails, costs more than a digest, or depends
 * on whether the client is registered.
 */
export interface Attempts {
  /** Whether there is an attempt left. If not, a presented secret must not be compared with anything, not even with the cache. */
  areLeft(clientId: string, network: string): boolean;

  /**
   * Counts an attempt as failed, before its secret is compared with anything. Returns what takes it off again: call that once
   * if the secret is right, or if a fault kept it from being compared.
   */
  count(clientId: string, network: string): () => void;
}

/** No limit. */
export const UNLIMITED_ATTEMPTS: Attempts = { areLeft: () => true, count: () => () => {} };
