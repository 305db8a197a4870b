import type { KeyObject } from 'node:crypto';

/** Told of each private key that is made or read, for who has to hand it on to the workers of this service. */
export type PrivateKeyListener = (kid: string, privateKey: KeyObject) => void;
