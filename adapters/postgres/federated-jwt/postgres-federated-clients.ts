import { logBroken } from '../../../application/client-lookup.ts';
import {
  FEDERATED_CANDIDATES_MAX,
  type FederatedCandidate,
  type FederatedClients,
} from '../../../application/ports/federated-clients.ts';
import { readConditions } from '../../../domain/claim-path.ts';
import { CLAIMS_BYTES_MAX } from '../../../domain/client-details.ts';
import { BOUNDED_COLUMNS, bounded, CLIENTS, type ClientRecord, lookupOf } from '../client-entity.ts';
import { SQLSTATE } from '../fault.ts';
import type { DatabaseLog } from '../health.ts';
import type { Runner } from '../runner.ts';
import { migratedTable } from '../table.ts';

/** The table of rules for identities of other issuers, as `npm run migrate` creates it. */
export const CLIENT_SUBJECTS = migratedTable(
  'client_subjects',
  'read',
  ...['client_id', 'registration_id', 'issuer', 'subject', 'claims'],
);

/** A client with the rule that was found. */
interface SubjectRecord extends ClientRecord {
  readonly ruleClientId: string;
  readonly claims: string;
}

/**
 * One round trip, by the index of identities and then by the clients' own. Parameters: issuer, subject, and a client id or an
 * empty text for all. A text that was written and read has no collation of its own, so the comparison takes the collation of
 * the column of `clients`, which another application may have chosen, and can use the index of that column.
 */
const FIND_BY_SUBJECT = {
  name: 'find_by_subject',
  text: `select ${BOUNDED_COLUMNS}, ${bounded('rule.client_id')} as "ruleClientId", ${bounded('rule.claims', CLAIMS_BYTES_MAX)} as claims
    from $schema.client_subjects rule join $schema.clients
      on clients.${CLIENTS.columns.clientId} operator(pg_catalog.=) pg_catalog.textin(pg_catalog.textout(rule.client_id))
        and clients.${CLIENTS.columns.id}::text = rule.registration_id
    where rule.issuer = $1 and rule.subject = $2 and ($3::text = '' or rule.client_id = $3)
    order by rule.client_id limit ${FEDERATED_CANDIDATES_MAX}`,
} as const;

/** The rules in the table `client_subjects`: read at every look-up, never written and never cached. */
export function postgresFederatedClients(runner: Runner, log: DatabaseLog): FederatedClients {
  return {
    async findBySubject({ issuer, subject, clientId = '' }) {
      const texts = [issuer, subject, clientId];
      // The driver would send half a surrogate pair as U+FFFD. The look-up is made anyway, for a subject that no rule has.
      const values = texts.every((text) => text.isWellFormed()) ? texts : [issuer, '', ''];
      const records = await runner.run<SubjectRecord>({ ...FIND_BY_SUBJECT, values }, SQLSTATE.unstorableText);
      const candidates = records.flatMap(candidateOf);
      for (const candidate of candidates) logBroken(log, candidate.clientId, candidate.lookup);
      return candidates;
    },
  };
}

/** The candidate that a row means. None if the column of ids ignores case or spaces, and the row is of another client. */
function candidateOf(record: SubjectRecord): readonly FederatedCandidate[] {
  const clientId = record.ruleClientId;
  const lookup = lookupOf([record], clientId);
  return lookup.kind === 'unknown' ? [] : [{ clientId, lookup, claims: readConditions(record.claims) }];
}
