import { JoseTokenSigner } from '../../../adapters/jose/jose-token-signer.ts';
import { JoseTokenVerifier } from '../../../adapters/jose/jose-token-verifier.ts';
import { describeTokenVerifier } from '../../contracts/token-verifier.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

describeTokenVerifier('JoseTokenVerifier', async () => {
  const keys = await freshKeyRing();
  return { signer: new JoseTokenSigner(keys), verifier: new JoseTokenVerifier(keys) };
});
