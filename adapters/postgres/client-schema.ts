import { defineEntity, p } from '@mikro-orm/core';

/**
 * The table `clients` as it is made where there is none: client ids are unique and compared byte by byte (collation `C`),
 * the row id is the table's own. Texts have no length here: what is too long for us is refused when it is read.
 */
export const CLIENT_SCHEMA = defineEntity({
  name: 'Client',
  tableName: 'clients',
  properties: {
    id: p.bigint('string').primary().generated('by default as identity'),
    clientId: p.text().fieldName('client_id').collation('C').unique(),
    clientSecret: p.text().fieldName('client_secret'),
    clientName: p.text().fieldName('client_name'),
    scope: p.text().fieldName('scope'),
  },
});
