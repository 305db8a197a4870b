import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { TokenSigner } from '../../../application/token-signer.ts';
import { describeTokenSigner } from '../../contracts/token-signer.ts';
import { describeTokenVerifier } from '../../contracts/token-verifier.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';
import { OTHER_ALGORITHMS } from '../../support/token-algorithms.ts';
import { tokenVerifier } from '../../support/token-verifier.ts';

describeTokenSigner('TokenSigner', async () => {
  const keys = await freshKeyRing();
  return { signer: new TokenSigner(keys), keys };
});

for (const algorithm of OTHER_ALGORITHMS) {
  describeTokenSigner(
    'TokenSigner',
    async () => {
      const keys = await freshKeyRing({
        factory: createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }),
        algorithm,
      });
      return { signer: new TokenSigner(keys), keys };
    },
    algorithm,
  );
}

for (const algorithm of OTHER_ALGORITHMS) {
  describeTokenVerifier(`tokenVerifier with ${algorithm}`, async () => {
    const keys = await freshKeyRing({
      factory: createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }),
      algorithm,
    });
    return { signer: new TokenSigner(keys), verifier: tokenVerifier(keys) };
  });
}

describeTokenVerifier('tokenVerifier', async () => {
  const keys = await freshKeyRing();
  return { signer: new TokenSigner(keys), verifier: tokenVerifier(keys) };
});
