import { defineEntity, p } from '@mikro-orm/core';

/**
 * The table `signing_keys` as it is made where there is none: public RSA keys by their ids, which are compared byte by
 * byte (collation `C`), with modulus and exponent in base64url, and the second since the epoch up to which each is trusted.
 */
export const SIGNING_KEY_SCHEMA = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_keys',
  properties: {
    kid: p.text().collation('C').primary(),
    n: p.text(),
    e: p.text(),
    trustedUntil: p.bigint('string').fieldName('trusted_until'),
  },
});
