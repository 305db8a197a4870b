import { Migration } from '@mikro-orm/migrations';

/**
 * What a registration has beyond the five columns of the table `clients`, which stays as it is, since another application
 * may own it. A row belongs to a registration by its client id and by the id of its row in `clients`, so what is left of a
 * deleted registration never serves a later one of the same client id. Times are in seconds since the epoch.
 */
export class ClientDetailsMigration extends Migration {
  up(): void {
    const owner = 'client_id text collate "C" not null, registration_id text collate "C" not null';
    this.addSql(`create table client_secrets (${owner},
      secret_id text collate "C" not null,
      name text not null,
      encoded text not null,
      expires_at bigint,
      created_at bigint not null default floor(extract(epoch from now())),
      primary key (client_id, registration_id, secret_id))`);
    this.addSql(`create table client_keys (${owner},
      key_id text collate "C" not null,
      jwk text not null,
      expires_at bigint,
      created_at bigint not null default floor(extract(epoch from now())),
      primary key (client_id, registration_id, key_id))`);
    // Few rows expire soon, and the service counts them at an interval.
    for (const table of ['client_secrets', 'client_keys']) {
      this.addSql(`create index ${table}_expiry on ${table} (expires_at) where expires_at is not null`);
    }
    this.addSql(`create table client_subjects (${owner},
      issuer text collate "C" not null,
      subject text collate "C" not null,
      claims text not null default '{}',
      created_at bigint not null default floor(extract(epoch from now())),
      primary key (client_id, registration_id, issuer, subject))`);
    this.addSql('create index client_subjects_identity on client_subjects (issuer, subject)');
    this.addSql(`create table client_resources (${owner},
      resource text collate "C" not null,
      primary key (client_id, registration_id, resource))`);
  }
}
