import { ClientRegistration, type ClientRegistrationFields } from '../domain/client-registration.ts';
import type { ClientLookup } from './ports/client-repository.ts';

/** What a stored registration means: it is broken if it breaks a rule of the domain. */
export function lookupOf(fields: ClientRegistrationFields): Exclude<ClientLookup, { kind: 'unknown' }> {
  const registration = ClientRegistration.of(fields);
  return registration.ok
    ? { kind: 'found', registration: registration.value }
    : { kind: 'broken', problem: registration.problem };
}
