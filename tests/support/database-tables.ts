import { CLIENTS } from '../../adapters/postgres/client-entity.ts';
import { CLIENT_SUBJECTS } from '../../adapters/postgres/federated-jwt/postgres-federated-clients.ts';
import { KEY_RING } from '../../adapters/postgres/key-directory/key-ring-table.ts';
import { CLIENT_KEYS } from '../../adapters/postgres/private-key-jwt/postgres-client-keys.ts';
import { USED_ASSERTIONS } from '../../adapters/postgres/private-key-jwt/used-assertion-table.ts';

/** The tables that a service uses with these settings, in the order of the doctor's report. */
export const TABLES = {
  ofSecrets: [CLIENTS],
  ofIdentities: [CLIENTS, CLIENT_SUBJECTS],
  ofAssertions: [CLIENTS, CLIENT_KEYS, CLIENT_SUBJECTS],
  all: [CLIENTS, CLIENT_KEYS, CLIENT_SUBJECTS, KEY_RING, USED_ASSERTIONS],
  ofKeys: [KEY_RING],
};
