import { bcryptEncoder } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { describeSecretEncoder } from '../../contracts/secret-encoder.ts';
import { atOnce } from '../../support/at-once.ts';

describeSecretEncoder('BcryptSecretEncoder', bcryptEncoder(atOnce));
