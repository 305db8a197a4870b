import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
import type { Result } from '../../domain/result.ts';

/** What a save did: the clients as they are stored now. */
export interface SavedClients {
  readonly added: readonly ClientRegistrationFields[];
  readonly replaced: readonly ClientRegistrationFields[];
}

/** What a change of a secret did. */
export interface ChangedClients {
  /** The clients of the id as they are stored now; none if the id is unknown. */
  readonly clients: readonly ClientRegistrationFields[];
  /** False if every stored secret was the new one already, so that nothing was written. */
  readonly changed: boolean;
}

/** Computes the new secret of a stored client from its stored and its given secret. */
export type SecretReplacement = (stored: string, given: string) => string;

/** The fault of a value that breaks a rule of the storage's own, such as a constraint. Nothing was changed. */
export class ValueRefused extends Error {
  /** @param cause names the rule, and never quotes the value. */
  constructor(cause: unknown) {
    super('the client store refuses a value', { cause });
    this.name = 'ValueRefused';
  }
}

/**
 * The stored clients, for programs that manage them. Clients come as they are stored, whatever rule they break. An id
 * means exactly this id: case, accents and spaces count. It belongs to one client, except in a storage that another
 * application created without that rule.
 *
 * Each method is atomic: of two that run at the same time, one sees what the other has done. None is repeated after a
 * fault, since it may have been done. All throw ValueRefused, and DependencyUnavailable if the storage cannot be used.
 */
export interface ClientStore {
  /** Every client, ordered by client id, byte by byte. Costs one pass over the storage. */
  list(): Promise<readonly ClientRegistrationFields[]>;

  /** The clients of this id: none, one, or several. Costs one look-up by an index, as do the changes below. */
  find(clientId: string): Promise<readonly ClientRegistrationFields[]>;

  /**
   * Stores all of these clients, whose ids differ, or none. With a `replacement`, clients that are stored already get
   * that secret, and the given name and scope. Otherwise nothing is stored, and the result names the ids that are taken.
   */
  save(
    clients: readonly NewClient[],
    replacement?: SecretReplacement,
  ): Promise<Result<SavedClients, ReadonlySet<string>>>;

  /** Replaces the stored secret of a client by what `change` computes from it. */
  changeSecret(clientId: string, change: (stored: string) => string): Promise<ChangedClients>;

  /** Deletes the clients of this id, and returns what was deleted. */
  remove(clientId: string): Promise<readonly ClientRegistrationFields[]>;
}
