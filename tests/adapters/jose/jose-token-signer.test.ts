import { JoseTokenSigner } from '../../../adapters/jose/jose-token-signer.ts';
import { describeTokenSigner } from '../../contracts/token-signer.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

describeTokenSigner('JoseTokenSigner', async () => {
  const keys = await freshKeyRing();
  return { signer: new JoseTokenSigner(keys), keys };
});
