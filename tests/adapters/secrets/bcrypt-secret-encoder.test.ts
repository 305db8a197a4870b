import { BcryptSecretEncoder } from '../../../adapters/secrets/bcrypt-secret-encoder.ts';
import { describeSecretEncoder } from '../../contracts/secret-encoder.ts';

describeSecretEncoder('BcryptSecretEncoder', new BcryptSecretEncoder());
