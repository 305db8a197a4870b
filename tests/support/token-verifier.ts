import type { VerificationKeys } from '../../application/ports/key-provider.ts';
import { verifyToken } from '../../application/verify-token.ts';

/** Verifies tokens with these keys. */
export interface TokenVerifier {
  verify(token: string): ReturnType<typeof verifyToken>;
}

export function tokenVerifier(keys: VerificationKeys): TokenVerifier {
  return { verify: (token) => verifyToken(token, keys) };
}
