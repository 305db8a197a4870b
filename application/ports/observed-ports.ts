import type { AssertionVerifier } from './assertion-verifier.ts';
import type { ClientRepository } from './client-repository.ts';
import type { SecretVerifier } from './secret-verifier.ts';
import type { TokenSigner } from './token-signer.ts';
import type { TokenVerifier } from './token-verifier.ts';
import type { VerificationSlots } from './verification-slots.ts';

/** Returns a port that does what the given one does, with a span around what takes time. */
export interface ObservedPorts {
  clients(port: ClientRepository): ClientRepository;
  slots(port: VerificationSlots): VerificationSlots;
  secrets(port: SecretVerifier): SecretVerifier;
  assertions(port: AssertionVerifier): AssertionVerifier;
  tokens(port: TokenVerifier): TokenVerifier;
  signer(port: TokenSigner): TokenSigner;
}
