import type { KeyRing } from '../../application/keys/key-ring.ts';

/** The ids of the keys that a ring publishes. */
export async function kidsOf(ring: KeyRing): Promise<readonly string[]> {
  return (await ring.publicKeys()).map(({ kid }) => kid);
}

/** The id of the key that signs. */
export async function signingKid(ring: KeyRing): Promise<string> {
  return (await ring.signingKey()).kid;
}
