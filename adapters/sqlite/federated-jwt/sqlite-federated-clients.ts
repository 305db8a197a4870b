import { logBroken, lookupOf } from '../../../application/client-lookup.ts';
import { FEDERATED_CANDIDATES_MAX, type FederatedClients } from '../../../application/ports/federated-clients.ts';
import { readConditions } from '../../../domain/claim-path.ts';
import { CLAIMS_BYTES_MAX } from '../../../domain/client-details.ts';
import type { ClientRegistrationFields } from '../../../domain/client-registration.ts';
import type { FileLog, FileReader } from '../file-reader.ts';
import { bounded, LOOKED_UP } from '../sqlite-client-repository.ts';

/** Parameters: issuer, subject, and a client id or an empty text for all. */
const FIND_BY_SUBJECT = `select ${LOOKED_UP}, ${bounded('claims', CLAIMS_BYTES_MAX)} as claims from client_subjects join clients on clients.id = registration_id
  where issuer = ?1 and subject = ?2 and (?3 = '' or client_id = ?3) order by clients.client_id limit ${FEDERATED_CANDIDATES_MAX}`;

/** The rules in the table `client_subjects`: read at every look-up, never written and never cached. */
export function sqliteFederatedClients(file: FileReader, log: FileLog): FederatedClients {
  return {
    async findBySubject({ issuer, subject, clientId = '' }) {
      const texts = [issuer, subject, clientId];
      // The driver would bind half a surrogate pair as U+FFFD. The look-up is made anyway, for a subject that no rule has.
      const values = texts.every((text) => text.isWellFormed()) ? texts : [issuer, '', ''];
      const records = file.read<ClientRegistrationFields & { readonly claims: string }>(FIND_BY_SUBJECT, ...values);
      return records.map(({ claims, ...fields }) => {
        const lookup = lookupOf(fields);
        logBroken(log, fields.clientId, lookup);
        return { clientId: fields.clientId, lookup, claims: readConditions(claims) };
      });
    },
  };
}
