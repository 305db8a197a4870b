import type {
  FederatedCandidate,
  FederatedClients,
  FederatedIdentity,
} from '../../../application/ports/federated-clients.ts';
import { SQLSTATE } from '../fault.ts';
import type { DatabaseLog } from '../health.ts';
import type { Runner } from '../runner.ts';
import { candidateOf, FIND_BY_SUBJECT, type SubjectRecord } from './subject-table.ts';

/** The rules in the table `client_subjects`: read at every look-up, never written and never cached. */
export class PostgresFederatedClients implements FederatedClients {
  readonly #runner: Runner;
  readonly #log: DatabaseLog;

  constructor(runner: Runner, log: DatabaseLog) {
    this.#runner = runner;
    this.#log = log;
  }

  async findBySubject({ issuer, subject, clientId = '' }: FederatedIdentity): Promise<readonly FederatedCandidate[]> {
    const texts = [issuer, subject, clientId];
    // The driver would send half a surrogate pair as U+FFFD. The look-up is made anyway, for a subject that no rule has.
    const values = texts.every((text) => text.isWellFormed()) ? texts : [issuer, '', ''];
    const statement = { ...FIND_BY_SUBJECT, values };
    const records = await this.#runner.run<SubjectRecord>(statement, SQLSTATE.unstorableText);
    const candidates = records.flatMap(candidateOf);
    for (const { clientId: client_id, lookup } of candidates) {
      if (lookup.kind === 'broken') this.#log({ event: 'registration_broken', client_id, ...lookup.problem });
    }
    return candidates;
  }
}
