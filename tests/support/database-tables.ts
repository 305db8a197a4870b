import { CLIENTS } from '../../adapters/postgres/client-entity.ts';
import { KEY_RING } from '../../adapters/postgres/key-directory/key-ring-table.ts';
import { USED_ASSERTIONS } from '../../adapters/postgres/used-assertion-table.ts';

/** The tables that a service uses with these settings, in the order of the doctor's report. */
export const TABLES = {
  ofClients: [CLIENTS],
  all: [CLIENTS, KEY_RING, USED_ASSERTIONS],
  ofKeys: [KEY_RING],
};
