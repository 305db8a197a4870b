import { JoseTokenVerifier } from '../../../adapters/jose/jose-token-verifier.ts';
import { Rs256TokenSigner } from '../../../adapters/jose/rs256-token-signer.ts';
import { describeTokenVerifier } from '../../contracts/token-verifier.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

describeTokenVerifier('JoseTokenVerifier', async () => {
  const keys = await freshKeyRing();
  return { signer: new Rs256TokenSigner(keys), verifier: new JoseTokenVerifier(keys) };
});
