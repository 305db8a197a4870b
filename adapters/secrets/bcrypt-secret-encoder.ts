import bcrypt from 'bcrypt';
import type { SecretEncoder } from '../../application/ports/secret-encoder.ts';

/** Encodes in libuv's thread pool. */
export class BcryptSecretEncoder implements SecretEncoder {
  encode(secret: string, cost: number): Promise<string> {
    return bcrypt.hash(secret, cost);
  }
}
