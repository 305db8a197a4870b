import { InMemoryKeyProvider } from '../../../adapters/jose/in-memory-key-provider.ts';
import { JoseTokenSigner } from '../../../adapters/jose/jose-token-signer.ts';
import { JoseTokenVerifier } from '../../../adapters/jose/jose-token-verifier.ts';
import { RandomIdGenerator } from '../../../adapters/system/random-id-generator.ts';
import { describeTokenVerifier } from '../../contracts/token-verifier.ts';

describeTokenVerifier('JoseTokenVerifier', async () => {
  const keys = await InMemoryKeyProvider.generate(new RandomIdGenerator());
  return { signer: new JoseTokenSigner(keys), verifier: new JoseTokenVerifier(keys) };
});
