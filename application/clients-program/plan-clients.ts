import { FIELD_NAMES } from '../../domain/client-registration.ts';
import { describeDetailsProblem } from '../../domain/details-rules.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import {
  type ClientStore,
  type ClientsFile,
  type FileClient,
  type ImportEntry,
  type ImportProblem,
  PLAN_CLIENTS_MAX,
  type PlanCounts,
} from '../ports/client-store.ts';
import { type CheckRule, problemOfRules } from './change-client.ts';
import { ClientPlan } from './client-plan.ts';
import { ClientPlanner, GENERATED_MAX, type PlanOptions, type PlanParts, TOO_MANY_GENERATED } from './plan-client.ts';

/** Reading ends after so many problems. */
export const PROBLEMS_MAX = 100;

const TOO_MANY_CLIENTS = `one run takes at most ${PLAN_CLIENTS_MAX} clients: split the file, or write the rows by SQL`;

const OUTDATED = 'Clients were changed meanwhile: run this again.';

/** What a file would change. */
export interface ClientsPlan extends Pick<ClientPlan, 'entries' | 'counts'> {
  /** Fails where the storage would refuse it, and stores nothing. */
  rehearse(): Promise<Result<PlanCounts, string>>;
  /**
   * Does it, all or nothing, revokes the tokens of the clients that are disabled or removed, and writes generated
   * secrets to their files before. Fails if a client was changed since, or a secret cannot be written. A fault leaves
   * the files: nobody knows whether the change was made.
   */
  apply(file: ClientsFile): Promise<Result<PlanCounts, string>>;
}

/**
 * Compares the clients of a file with the stored ones. Plain secrets are hashed, BCrypt encodings and locks are stored
 * as they are; a plain secret that matches the stored encoding is unchanged. The plan is held in memory.
 *
 * @returns at most PROBLEMS_MAX problems, if there is any. After the batch of the first one, no secret is compared or
 * hashed.
 */
export async function planClients(
  parts: PlanParts,
  batches: AsyncIterable<readonly ImportEntry[]>,
  options: PlanOptions,
): Promise<Result<ClientsPlan, readonly ImportProblem[]>> {
  const plan = new ClientPlan(parts.store);
  const planner = new ClientPlanner(parts, options);
  const { generated } = planner;
  const problems: ImportProblem[] = [];
  let position = 0;
  for await (const batch of batches) {
    const checked = batch.map((entry, index): ImportEntry => {
      const found = entry.ok ? problemsOf(entry.value, position + index, parts.checkRule) : [];
      return found.length > 0 ? failure(found) : entry;
    });
    planner.isRefused ||= problems.length > 0 || checked.some(({ ok }) => !ok);
    problems.push(...(await planBatch(planner, parts.store, plan, checked, position)));
    if (plan.size > PLAN_CLIENTS_MAX) problems.unshift({ text: TOO_MANY_CLIENTS });
    if (problems.length >= PROBLEMS_MAX || plan.size > PLAN_CLIENTS_MAX) break;
    position += batch.length;
  }
  if (generated.size > GENERATED_MAX) problems.unshift({ text: TOO_MANY_GENERATED });
  if (problems.length > 0) return failure(problems.slice(0, PROBLEMS_MAX));
  const pruned = options.others === 'remove' ? options.owner : undefined;
  if (pruned !== undefined) await plan.prune(pruned);
  if (plan.size > PLAN_CLIENTS_MAX) return failure([{ text: TOO_MANY_CLIENTS }]);
  return success({
    counts: plan.counts,
    entries: (...actions) => plan.entries(...actions),
    async rehearse() {
      const rehearsed = await plan.apply(undefined, pruned);
      return rehearsed.ok ? rehearsed : failure(OUTDATED);
    },
    async apply(file) {
      const written: string[] = [];
      const undo = () => Promise.all(written.map((path) => parts.secretFiles.remove(path)));
      for (const [path, secret] of generated) {
        const problem = await parts.secretFiles.write(path, secret);
        if (problem !== undefined) {
          await undo();
          return failure(problem);
        }
        written.push(path);
      }
      let isCommitting = false;
      const onCommit = () => {
        isCommitting = true;
      };
      const kind = options.existing === 'match' ? 'apply' : 'import';
      const revoke = () => parts.tokens.revokeAll(plan.ended);
      const applied = await plan.apply({ kind, file }, pruned, onCommit, revoke).catch(async (fault: unknown) => {
        // Otherwise nobody knows whether it is stored.
        if (!isCommitting) await undo();
        throw fault;
      });
      if (applied.ok) {
        await revoke();
        await parts.lastUsed.forget(plan.entries('added', 'removed').map(({ clientId }) => clientId));
        return applied;
      }
      await undo();
      return failure(OUTDATED);
    },
  });
}

/** Adds the clients of a batch to the plan, and returns what is wrong with its entries. */
async function planBatch(
  planner: ClientPlanner,
  store: ClientStore,
  plan: ClientPlan,
  entries: readonly ImportEntry[],
  first: number,
): Promise<readonly ImportProblem[]> {
  const found = await store.findAll(entries.flatMap((entry) => (entry.ok ? entry.value.clientId : [])));
  const stored = new Map(found.map((one) => [one.clientId, one]));
  const planEntry = async (entry: ImportEntry, position: number) => {
    if (!entry.ok) return entry;
    const planned = await planner.plan(entry.value, stored.get(entry.value.clientId));
    return planned.ok ? planned : failure([{ position, text: planned.problem }]);
  };
  const planned = await Promise.all(entries.map((entry, index) => planEntry(entry, first + index)));
  const repeated = plan.add(planned.map((one) => (one.ok ? one.value : undefined)));
  return [
    ...planned.flatMap((one) => (one.ok ? [] : one.problem)),
    ...repeated.map(({ clientId, position, first: other }) => {
      return { position, text: `client ${clientId}: ${FIELD_NAMES.clientId} is that of`, other };
    }),
  ];
}

function problemsOf(client: FileClient, position: number, checkRule: CheckRule): readonly ImportProblem[] {
  const weak = problemOfRules(client.details?.federated_subjects ?? [], checkRule);
  const text = weak && `client ${client.clientId}: ${describeDetailsProblem(weak)}`;
  const unstorable = unstorableFields(client).map(({ field, rule }) => ({ position, text: `${field} ${rule}` }));
  return [...unstorable, ...(text === undefined ? [] : [{ position, text }])];
}

/** Texts that a database cannot store: a NUL, and half of a surrogate pair. */
export function unstorableFields(client: Pick<FileClient, 'clientId' | 'clientName'>): readonly UnstorableField[] {
  return (['clientId', 'clientName'] as const)
    .filter((field) => !client[field].isWellFormed() || client[field].includes('\0'))
    .map((field) => ({ field: FIELD_NAMES[field], rule: 'must be Unicode text without NUL' }));
}

interface UnstorableField {
  readonly field: string;
  readonly rule: string;
}
