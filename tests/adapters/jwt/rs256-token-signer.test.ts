import { Rs256TokenSigner } from '../../../adapters/jwt/rs256-token-signer.ts';
import { describeTokenSigner } from '../../contracts/token-signer.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

describeTokenSigner('Rs256TokenSigner', async () => {
  const keys = await freshKeyRing();
  return { signer: new Rs256TokenSigner(keys), keys };
});
