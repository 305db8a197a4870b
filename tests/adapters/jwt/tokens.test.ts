import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { joseTokenVerifier } from '../../../adapters/jwt/jose-token-verifier.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { TokenSigner } from '../../../application/token-signer.ts';
import { describeTokenSigner } from '../../contracts/token-signer.ts';
import { describeTokenVerifier } from '../../contracts/token-verifier.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';
import { OTHER_ALGORITHMS } from '../../support/token-algorithms.ts';

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
  describeTokenVerifier(`joseTokenVerifier with ${algorithm}`, async () => {
    const keys = await freshKeyRing({
      factory: createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }),
      algorithm,
    });
    return { signer: new TokenSigner(keys), verifier: joseTokenVerifier(keys) };
  });
}

describeTokenVerifier('joseTokenVerifier', async () => {
  const keys = await freshKeyRing();
  return { signer: new TokenSigner(keys), verifier: joseTokenVerifier(keys) };
});
