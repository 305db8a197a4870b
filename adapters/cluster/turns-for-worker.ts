import type { CheckTurns } from '../../application/ports/check-turns.ts';
import { checkOutcome, verdictOf } from './check-outcome.ts';
import type { CheckOutcome, SentCheckRequest, WorkerFunctions } from './protocol.ts';

/** Takes turns on behalf of one worker, and tells it to run its checks. */
export class TurnsForWorker {
  readonly #turns: CheckTurns;
  readonly #worker: Pick<WorkerFunctions, 'runCheck'>;
  readonly #callers = new Map<number, AbortController>();

  constructor(turns: CheckTurns, worker: Pick<WorkerFunctions, 'runCheck'>) {
    this.#turns = turns;
    this.#worker = worker;
  }

  async take(id: number, { address, proved, ...request }: SentCheckRequest): Promise<CheckOutcome> {
    const controller = new AbortController();
    this.#callers.set(id, controller);
    try {
      const check = async () => verdictOf(await this.#worker.runCheck(id));
      return await checkOutcome(
        this.#turns.take({ ...request, caller: { address, proved, disconnected: controller.signal } }, check),
      );
    } finally {
      this.#callers.delete(id);
    }
  }

  callerGone(id: number): void {
    this.#callers.get(id)?.abort();
  }

  /** Gives up what waits, since the worker has gone and its callers with it. */
  close(): void {
    for (const controller of this.#callers.values()) controller.abort();
  }
}
