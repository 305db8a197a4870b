import { JoseTokenVerifier } from '../../../adapters/jwt/jose-token-verifier.ts';
import { Rs256TokenSigner } from '../../../adapters/jwt/rs256-token-signer.ts';
import { describeTokenVerifier } from '../../contracts/token-verifier.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

describeTokenVerifier('JoseTokenVerifier', async () => {
  const keys = await freshKeyRing();
  return { signer: new Rs256TokenSigner(keys), verifier: new JoseTokenVerifier(keys) };
});
