import type { ClientRepository } from '../../../application/ports/client-repository.ts';
import {
  FEDERATED_CANDIDATES_MAX,
  type FederatedCandidate,
  type FederatedClients,
  type FederatedIdentity,
} from '../../../application/ports/federated-clients.ts';
import type { FederatedSubject } from '../../../domain/client-details.ts';
import type { NewClient } from '../../../domain/client-registration.ts';

interface Rule {
  readonly clientId: string;
  readonly claims: FederatedSubject['claims'];
}

/** The rules of the registrations in this process's memory. */
export class InMemoryFederatedClients implements FederatedClients {
  readonly #clients: ClientRepository;
  readonly #rules = new Map<string, Rule[]>();

  constructor(clients: ClientRepository, registered: readonly NewClient[] = []) {
    this.#clients = clients;
    for (const client of registered) this.add(client);
  }

  add({ clientId, details }: Pick<NewClient, 'clientId' | 'details'>): void {
    for (const { claims, ...identity } of details?.subjects ?? []) {
      const rules = this.#rules.get(keyOf(identity)) ?? [];
      rules.push({ clientId, claims });
      this.#rules.set(keyOf(identity), rules);
    }
  }

  async findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]> {
    const rules = (this.#rules.get(keyOf(identity)) ?? [])
      .filter(({ clientId }) => identity.clientId === undefined || clientId === identity.clientId)
      .toSorted((one, other) => Buffer.compare(Buffer.from(one.clientId), Buffer.from(other.clientId)))
      .slice(0, FEDERATED_CANDIDATES_MAX);
    const candidates = await Promise.all(
      rules.map(async (rule) => ({ ...rule, lookup: await this.#clients.findByClientId(rule.clientId) })),
    );
    return candidates.flatMap(({ lookup, ...rule }) => (lookup.kind === 'unknown' ? [] : [{ ...rule, lookup }]));
  }
}

function keyOf({ issuer, subject }: Pick<FederatedSubject, 'issuer' | 'subject'>): string {
  return JSON.stringify([issuer, subject]);
}
