import { describeDetailsProblem } from '../../domain/client-details.ts';
import { FIELD_NAMES } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import type {
  ClientPlan,
  ClientsFile,
  FileClient,
  ImportEntry,
  ImportProblem,
  PlanCounts,
} from '../ports/client-store.ts';
import { type CheckRule, problemOfRules } from './change-client.ts';
import { ClientPlanner, GENERATED_MAX, type PlanOptions, type PlanParts, TOO_MANY_GENERATED } from './plan-client.ts';

/** Reading ends after so many problems. */
export const PROBLEMS_MAX = 100;

const OUTDATED = 'Clients were changed meanwhile: run this again.';

/** What a file would change. It can be read until the store is closed. */
export interface ClientsPlan extends Pick<ClientPlan, 'entries'> {
  readonly counts: PlanCounts;
  /** Fails where the storage would refuse it, and stores nothing. */
  rehearse(): Promise<Result<PlanCounts, string>>;
  /**
   * Does it, all or nothing, and writes generated secrets to their files before. Fails if a client was changed since, or a
   * secret cannot be written. A fault leaves the files: nobody knows whether the change was made.
   */
  apply(file: ClientsFile): Promise<Result<PlanCounts, string>>;
}

/**
 * Compares the clients of a file with the stored ones. Plain secrets are hashed, BCrypt encodings and locks are stored as they are; a
 * plain secret that matches the stored encoding is unchanged. One batch of entries is held in memory at a time.
 *
 * @returns at most PROBLEMS_MAX problems, if there is any. After the batch of the first one, no secret is compared or hashed.
 */
export async function planClients(
  parts: PlanParts,
  batches: AsyncIterable<readonly ImportEntry[]>,
  options: PlanOptions,
): Promise<Result<ClientsPlan, readonly ImportProblem[]>> {
  const plan = await parts.store.startPlan();
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
    problems.push(...(await planBatch(planner, plan, checked, position)));
    if (problems.length >= PROBLEMS_MAX) break;
    position += batch.length;
  }
  if (generated.size > GENERATED_MAX) problems.unshift({ text: TOO_MANY_GENERATED });
  if (problems.length > 0) return failure(problems.slice(0, PROBLEMS_MAX));
  const pruned = options.others === 'remove' ? options.owner : undefined;
  if (pruned !== undefined) await plan.prune(pruned);
  return success({
    counts: await plan.count(),
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
      const applied = await plan.apply({ kind, file }, pruned, onCommit).catch(async (fault: unknown) => {
        // Otherwise nobody knows whether it is stored.
        if (!isCommitting) await undo();
        throw fault;
      });
      if (applied.ok) return applied;
      await undo();
      return failure(OUTDATED);
    },
  });
}

/** Adds the clients of a batch to the plan, and returns what is wrong with its entries. */
async function planBatch(
  planner: ClientPlanner,
  plan: ClientPlan,
  entries: readonly ImportEntry[],
  first: number,
): Promise<readonly ImportProblem[]> {
  const found = await plan.find(entries.flatMap((entry) => (entry.ok ? entry.value.clientId : [])));
  const stored = new Map(found.map((one) => [one.clientId, one]));
  const planEntry = async (entry: ImportEntry, position: number) => {
    if (!entry.ok) return entry;
    const planned = await planner.plan(entry.value, stored.get(entry.value.clientId));
    return planned.ok ? planned : failure([{ position, text: planned.problem }]);
  };
  const planned = await Promise.all(entries.map((entry, index) => planEntry(entry, first + index)));
  const repeated = await plan.add(planned.map((one) => (one.ok ? one.value : undefined)));
  return [
    ...planned.flatMap((one) => (one.ok ? [] : one.problem)),
    ...repeated.map(({ clientId, position, first: other }) => {
      return { position, text: `client ${clientId}: ${FIELD_NAMES.clientId} is that of`, other };
    }),
  ];
}

function problemsOf(client: FileClient, position: number, checkRule: CheckRule): readonly ImportProblem[] {
  const weak = problemOfRules(client.details?.subjects ?? [], checkRule);
  const text = weak && `client ${client.clientId}: ${describeDetailsProblem(weak)}`;
  return [...unstorableFields(client, position), ...(text === undefined ? [] : [{ position, text }])];
}

/** Texts that a database cannot store: a NUL, and half of a surrogate pair. */
function unstorableFields(client: FileClient, position: number): readonly ImportProblem[] {
  return (['clientId', 'clientName'] as const)
    .filter((field) => !client[field].isWellFormed() || client[field].includes('\0'))
    .map((field) => ({ position, text: `${FIELD_NAMES[field]} must be Unicode text without NUL` }));
}
