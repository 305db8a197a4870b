import { encodeWithBcrypt } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { describeSecretEncoder } from '../../contracts/secret-encoder.ts';

describeSecretEncoder('BcryptSecretEncoder', encodeWithBcrypt);
