import { InMemoryKeyProvider } from '../../../adapters/jose/in-memory-key-provider.ts';
import { JoseTokenSigner } from '../../../adapters/jose/jose-token-signer.ts';
import { RandomIdGenerator } from '../../../adapters/system/random-id-generator.ts';
import { describeTokenSigner } from '../../contracts/token-signer.ts';

describeTokenSigner('JoseTokenSigner', async () => {
  const keys = await InMemoryKeyProvider.generate(new RandomIdGenerator());
  return { signer: new JoseTokenSigner(keys), keys };
});
