import { NO_DETAILS, withoutEmpty } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { describeDetailsProblem } from '../../domain/details-rules.ts';
import type { Problem } from '../../domain/problem.ts';
import { type Failure, failure, type Result, type Success, success } from '../../domain/result.ts';
import { isLocked, secretIdOf } from '../../domain/stored-secret.ts';
import {
  type ChangeProblem,
  type ChangeRequest,
  changeClient,
  type ManagementParts,
  problemOfRules,
} from '../clients-program/change-client.ts';
import { describeClient } from '../clients-program/describe-client.ts';
import { lastUseOf } from '../clients-program/list-clients.ts';
import { ClientPlanner, type PlanParts } from '../clients-program/plan-client.ts';
import { unstorableFields } from '../clients-program/plan-clients.ts';
import {
  type ClientEdit,
  type ClientStore,
  type PlannedClient,
  type StoredClient,
  ValueRefused,
  type VersionedClient,
} from '../ports/client-store.ts';

/** What a token needs to read clients, to change them, and to change those that have one of these scopes themselves. */
export const ADMIN_SCOPES = { read: 'clients:read', write: 'clients:write', all: 'clients:admin' } as const;

/** What is wrong with a part of a document; never with a value. */
export interface DocumentProblem extends Problem {
  /** The fields that lead to it, joined by dots; empty for the whole. */
  readonly path: string;
}

/** Why a change is refused, or what is wrong with a document. */
export interface AdministrationProblem {
  readonly kind:
    | 'client_unknown'
    | 'client_changed'
    | 'client_owned'
    | 'client_protected'
    | 'client_unreadable'
    | 'document_invalid'
    | 'secret_unknown'
    | 'secrets_too_many'
    | 'secret_missing';
  /** Whose it is. */
  readonly owner?: string;
  readonly problems?: readonly DocumentProblem[];
}

/** A client as the API shows it, and its version. */
export interface ShownClient {
  readonly document: object;
  readonly version: string;
}

/** A page of clients, and the id of its last one if there may be more behind it. */
interface ClientPage {
  readonly documents: readonly object[];
  readonly last: string | undefined;
}

/** Which state of a client is to be replaced: none, any, or one of these versions. */
export type Expected = 'none' | 'any' | readonly string[];

/** A secret to generate: its name, and its end in seconds since the epoch. */
interface GivenSecret {
  readonly name?: string;
  readonly expiresAt?: number;
}

/** Makes a client of a document. What it says nothing about of secrets is as it is stored. */
export type ReadDocument = (stored: StoredClient | undefined) => Result<NewClient, readonly DocumentProblem[]>;

/** Who asks, and what for. */
interface AdministrationParts extends ManagementParts, PlanParts {
  /** Of the token. */
  readonly scopes: readonly string[];
  /** What a client may have only if somebody with {@link ADMIN_SCOPES.all} gives it. */
  readonly protectedScopes: readonly string[];
}

/** A page ends with the clients that it reads at once, when it has so many characters: others wait meanwhile. */
const [READ_AT_ONCE, PAGE_CHARACTERS] = [50, 1_000_000];

/** How often a client is replaced in any state that others change meanwhile. */
const WRITE_ATTEMPTS = 5;

type Outcome<Value> = Promise<Result<Value, AdministrationProblem>>;

export type ClientAdministration = ReturnType<typeof administerClients>;

/** The use cases of the API: those of the program, for somebody who may not do everything. */
export function administerClients(parts: AdministrationParts) {
  const { store, tokens, lastUsed, clock, checkRule, scopes, protectedScopes } = parts;
  const mayAll = scopes.includes(ADMIN_SCOPES.all);

  const isProtected = ({ scope, details = {} }: Pick<NewClient, 'scope' | 'details'>) =>
    [scope, ...(details.resources ?? []).map((one) => (typeof one === 'string' ? '' : one.scope))]
      .flatMap((text) => text.split(' '))
      .some((one) => protectedScopes.includes(one));

  /** Why the stored client may not be changed; undefined if it may. */
  function refusalOf(stored: StoredClient): AdministrationProblem | undefined {
    const { owner } = stored.details;
    if (owner !== null) return { kind: 'client_owned', owner };
    // Of one whose details cannot be read, nobody knows what it may do.
    if (!mayAll && (isProtected(stored) || stored.problem !== undefined)) return { kind: 'client_protected' };
    return undefined;
  }

  async function find(clientId: string): Promise<VersionedClient | undefined> {
    const [found] = await store.findAll([clientId]);
    return found;
  }

  /** The documents of clients, with their last use. */
  async function documentsOf(clients: readonly StoredClient[]): Promise<readonly object[]> {
    const uses = await lastUsed.find(clients.map(({ clientId }) => clientId));
    return clients.map((one) => ({ ...documentFor(one, clock.now()), ...lastUseOf(one.clientId, uses) }));
  }

  async function show(clientId: string): Outcome<ShownClient> {
    const found = await find(clientId);
    if (found === undefined) return failure({ kind: 'client_unknown' });
    const [document = {}] = await documentsOf([found]);
    return success({ document, version: found.version });
  }

  /** One of the changes of the program, if the client may be changed. */
  async function change(clientId: string, request: ChangeRequest, expected: Expected) {
    let refusal: AdministrationProblem | undefined;
    const guarded: Pick<ClientStore, 'change'> = {
      change: <Problem>(
        id: string,
        edit: (stored: VersionedClient) => Result<ClientEdit, Problem>,
        prepare?: () => Promise<void>,
      ) =>
        store.change<Problem | 'client_unknown'>(
          id,
          (stored) => {
            refusal = refusalOf(stored) ?? changedSince(stored, expected);
            return refusal === undefined ? edit(stored) : failure('client_unknown');
          },
          prepare,
        ),
    };
    const mapped = async () => {
      const changed = await changeClient({ ...parts, store: guarded }, clientId, request);
      return changed.ok ? changed : failure(refusal ?? problemOf(changed.problem));
    };
    return mapped().catch(refusedValue);
  }

  /** The document as a client to store, or why it is none, or none for this caller. */
  function read(document: ReadDocument, stored: StoredClient | undefined): Result<NewClient, AdministrationProblem> {
    const given = document(stored);
    if (!given.ok) return failure({ kind: 'document_invalid', problems: given.problem });
    const { details = {} } = given.value;
    if (!mayAll && (isProtected(given.value) || details.owner != null)) return failure({ kind: 'client_protected' });
    const weak = problemOfRules(details.federated_subjects ?? [], checkRule);
    const problems = [
      ...unstorableFields(given.value).map(({ field: path, rule: text }) => ({ path, code: 'invalid_value', text })),
      ...(weak ? [{ path: `federated_subjects.${weak.position}`, code: 'rule_too_wide', text: weak.rule }] : []),
    ];
    return problems.length === 0 ? given : failure({ kind: 'document_invalid', problems });
  }

  async function put(
    clientId: string,
    expected: Expected,
    document: ReadDocument,
    attempts: number,
  ): Outcome<ShownClient & { readonly isNew: boolean }> {
    const stored = await find(clientId);
    const refusal = stored && refusalOf(stored);
    if (refusal !== undefined) return failure(refusal);
    const outdated = changedSince(stored, expected);
    if (outdated !== undefined) return failure(outdated);
    const given = read(document, stored);
    if (!given.ok) return given;
    const planner = new ClientPlanner(parts, { existing: 'match', unowned: 'adopt', cost: undefined });
    const planned = await planner.plan(given.value, stored);
    if (!planned.ok) return failure({ kind: 'client_unreadable' });
    const written = await write(planned.value, stored).catch(refusedValue);
    if (!written.ok) return written;
    if (written.value) {
      const after = await show(clientId);
      return after.ok ? success({ ...after.value, isNew: stored === undefined }) : after;
    }
    // Somebody was faster, which is another state only for a caller who has named one.
    if (expected === 'any' && attempts > 1) return put(clientId, expected, document, attempts - 1);
    return failure({ kind: 'client_changed' });
  }

  /** Stores a client as it is planned, unless it is not stored any more as the plan found it: false then. */
  async function write(planned: PlannedClient, stored: VersionedClient | undefined): Promise<Success<boolean>> {
    const { plan: _plan, clientId, ...next } = planned;
    if (stored === undefined) {
      if ((await store.add({ clientId, ...next })) === undefined) return success(false);
      await lastUsed.forget([clientId]);
      return success(true);
    }
    const edit = { ...next, details: { ...NO_DETAILS, ...next.details } };
    const revoke = () => tokens.revokeAll(isLocked(next.clientSecret) ? [clientId] : []);
    const replace = ({ version }: VersionedClient) =>
      version === stored.version ? success(edit) : failure('outdated' as const);
    const changed = await store.change(clientId, replace, revoke);
    if (changed.ok) await revoke();
    return success(changed.ok);
  }

  return {
    show,

    /** The clients behind an id, byte by byte: so many, or fewer if their documents are long. */
    async list(after: string | undefined, limit: number): Promise<ClientPage> {
      const documents: object[] = [];
      let characters = 0;
      const pageSize = Math.min(limit, READ_AT_ONCE);
      for await (const page of store.list({ prefix: '', after, pageSize })) {
        const read = await documentsOf(page);
        documents.push(...read);
        characters += JSON.stringify(read).length;
        const last = page.at(-1)?.clientId;
        if (documents.length + pageSize > limit || characters > PAGE_CHARACTERS) return { documents, last };
      }
      return { documents, last: undefined };
    },

    /** Creates a client, or replaces what is stored of it. */
    put: (clientId: string, expected: Expected, document: ReadDocument) =>
      put(clientId, expected, document, WRITE_ATTEMPTS),

    async remove(clientId: string, expected: Expected): Outcome<void> {
      let problem: AdministrationProblem | undefined;
      const mayRemove = (stored: VersionedClient) => {
        problem = refusalOf(stored) ?? changedSince(stored, expected);
        return problem === undefined;
      };
      const revoke = () => tokens.revokeAll([clientId]);
      const removed = await store.remove(clientId, revoke, mayRemove);
      if (removed === undefined) return failure(problem ?? { kind: 'client_unknown' });
      await revoke();
      await lastUsed.forget([clientId]);
      return success(undefined);
    },

    async setState(clientId: string, state: 'enabled' | 'disabled', expected: Expected): Outcome<ShownClient> {
      const changed = await change(clientId, { state }, expected);
      return changed.ok ? show(clientId) : changed;
    },

    /** Generates a secret beside the one that the client has, which it can have once. */
    async addSecret(clientId: string, given: GivenSecret, expected: Expected) {
      if ((given.expiresAt ?? Infinity) <= clock.now()) {
        const problem = { path: 'expires_at', code: 'invalid_value', text: 'must be in the future' };
        return failure({ kind: 'document_invalid', problems: [problem] } as const);
      }
      const changed = await change(clientId, { give: { ...given, cost: undefined } }, expected);
      if (!changed.ok) return changed;
      const { secret = '', client } = changed.value;
      const added = client.secrets.find(({ secret_id }) => secret_id === secretIdOf(secret));
      return success({ ...added, client_secret: secret });
    },

    async removeSecret(clientId: string, secretId: string, expected: Expected): Outcome<void> {
      const changed = await change(clientId, { remove: [{ secret_id: secretId }] }, expected);
      return changed.ok ? success(undefined) : changed;
    },
  };
}

/** A rule of the storage's own, such as a constraint, is one of the document. */
function refusedValue(fault: unknown): Failure<AdministrationProblem> {
  if (!(fault instanceof ValueRefused)) throw fault;
  const text = String(Object(fault.cause).message ?? fault.message);
  return failure({ kind: 'document_invalid', problems: [{ path: '', code: 'refused_by_database', text }] });
}

/** That a client is not in the expected state; undefined if it is. */
function changedSince(stored: VersionedClient | undefined, expected: Expected): AdministrationProblem | undefined {
  const isExpected =
    stored === undefined
      ? expected === 'none'
      : expected === 'any' || (expected !== 'none' && expected.includes(stored.version));
  return isExpected ? undefined : { kind: 'client_changed' };
}

function problemOf(problem: ChangeProblem): AdministrationProblem {
  switch (problem) {
    case 'client_unknown':
    case 'secret_unknown':
    case 'secret_missing':
      return { kind: problem };
    case 'too_many_secrets':
      return { kind: 'secrets_too_many' };
    case 'hash_missing':
      return { kind: 'secret_missing' };
    case 'details_unreadable':
      return { kind: 'client_unreadable' };
    default: {
      const text = typeof problem === 'object' && 'kind' in problem ? describeDetailsProblem(problem) : String(problem);
      return { kind: 'document_invalid', problems: [{ path: '', code: 'invalid_value', text }] };
    }
  }
}

/**
 * The document of a client without its secrets and their hashes, with its state, which a document that is stored may
 * have too.
 */
function documentFor({ details, ...stored }: StoredClient, now: number): object {
  const { state, problem } = describeClient({ ...stored, details }, now);
  const { secrets = [], ...rest } = withoutEmpty(details);
  const named = secrets.map(({ client_secret: _hash, ...secret }) => secret);
  return {
    client_id: stored.clientId,
    client_name: stored.clientName,
    scope: stored.scope,
    state,
    ...(problem !== null && { problem }),
    ...(named.length > 0 && { secrets: named }),
    ...rest,
  };
}
