import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessTree } from './process-tree.ts';

export interface MemorySample {
  /** Since sampling began. */
  readonly seconds: number;
  readonly megabytes: number;
}

/** Resident memory of a process tree, sampled all the time until it is ended. No sample where there is no /proc. */
export class MemoryLog {
  readonly #samples: MemorySample[] = [];
  readonly #end = new AbortController();
  readonly #sampling: Promise<void>;

  constructor(tree: ProcessTree, everyMs: number) {
    this.#sampling = this.#sample(tree, everyMs);
  }

  /** Ends it and answers the samples, oldest first. */
  async end(): Promise<readonly MemorySample[]> {
    this.#end.abort();
    await this.#sampling;
    return this.#samples;
  }

  async #sample(tree: ProcessTree, everyMs: number): Promise<void> {
    const begin = performance.now();
    const { signal } = this.#end;
    while (!signal.aborted) {
      const megabytes = await tree.memoryMb();
      if (megabytes !== undefined) this.#samples.push({ seconds: (performance.now() - begin) / 1000, megabytes });
      await delay(everyMs, undefined, { signal }).catch(() => {});
    }
  }
}
