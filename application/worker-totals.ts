/** What the workers answered, and what they have counted since the start of the service. */
interface WorkerReading<Answer, Totals> {
  /** By the id of the worker; undefined for one that does not answer in time. */
  readonly answers: ReadonlyMap<number, Answer | undefined>;
  readonly totals: readonly Totals[];
}

interface WorkerTotalsParts<Answer, Totals> {
  readonly ask: () => Promise<WorkerReading<Answer, Totals>['answers']>;
  readonly totalsOf: (answer: Answer) => Totals;
  readonly add: (one: Totals, other: Totals) => Totals | Promise<Totals>;
}

/**
 * The totals of each worker, from its last answer. Prometheus takes a falling total for a restart and counts all of it
 * again. So the totals of a worker stay when it does not answer and after it has ended.
 */
export class WorkerTotals<Answer, Totals> {
  readonly #parts: WorkerTotalsParts<Answer, Totals>;
  readonly #latest = new Map<number, { readonly reading: number; readonly totals: Totals }>();
  /** Of all workers that have ended, merged. */
  #ended: Promise<readonly Totals[]> = Promise.resolve([]);
  #readings = 0;

  constructor(parts: WorkerTotalsParts<Answer, Totals>) {
    this.#parts = parts;
  }

  async read(): Promise<WorkerReading<Answer, Totals>> {
    const { ask, totalsOf, add } = this.#parts;
    this.#readings += 1;
    const reading = this.#readings;
    const answers = await ask();
    for (const [worker, answer] of answers) {
      // The answer to an earlier reading may arrive after that to a later one.
      const isLatest = reading >= (this.#latest.get(worker)?.reading ?? 0);
      if (answer !== undefined && isLatest) this.#latest.set(worker, { reading, totals: totalsOf(answer) });
    }
    for (const [worker, { totals, reading: last }] of this.#latest) {
      if (answers.has(worker) || last > reading) continue;
      this.#latest.delete(worker);
      this.#ended = this.#ended.then(async ([older]) => [older === undefined ? totals : await add(older, totals)]);
    }
    const latest = [...this.#latest.values()].map(({ totals }) => totals);
    return { answers, totals: [...(await this.#ended), ...latest] };
  }
}
