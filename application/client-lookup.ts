import { ClientRegistration, type ClientRegistrationFields } from '../domain/client-registration.ts';
import type { Problem } from '../domain/problem.ts';
import type { ClientLookup } from './ports/client-repository.ts';

/** What a stored registration means: it is broken if it breaks a rule of the domain. */
export function lookupOf(fields: ClientRegistrationFields): Exclude<ClientLookup, { kind: 'unknown' }> {
  const registration = ClientRegistration.of(fields);
  return registration.ok
    ? { kind: 'found', registration: registration.value }
    : { kind: 'broken', problem: registration.problem };
}

/** A storage without a single client is in order, and hardly meant like this: for `/readyz` and the log. */
export const NO_CLIENT: Problem = {
  code: 'no_client_registered',
  text: 'no client is registered, so nobody gets a token',
  fix: 'npm run clients -- add <client-id> --name … --scope …',
};

/** A row that needs repair, for the log: the rule that a field breaks. */
export interface BrokenRegistration {
  readonly event: 'registration_broken';
  readonly client_id: string;
  readonly field: string;
  readonly rule: string;
}

/** Logs a registration that breaks a rule. */
export function logBroken(log: (line: BrokenRegistration) => void, client_id: string, lookup: ClientLookup): void {
  if (lookup.kind === 'broken') log({ event: 'registration_broken', client_id, ...lookup.problem });
}
