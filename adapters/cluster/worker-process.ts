import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import type { CheckTurns } from '../../application/ports/check-turns.ts';
import type { Environment } from '../../config/settings/read-environment.ts';
import { channelToWorker, type WorkerChannel } from './channel.ts';
import type { PrimaryFunctions, SentHealth, SentKeys, SentMatch, SentMetrics, WorkerStart } from './protocol.ts';
import { TurnsForWorker } from './turns-for-worker.ts';

/** What a worker may ask for, beside turns. */
export interface WorkerNeeds {
  readonly turns: CheckTurns;
  findKey(kid: string): Promise<SentKeys | undefined>;
  /** Tells all workers but this one. */
  remembered(match: SentMatch, from: WorkerProcess): void;
}

/** How a worker ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** One worker, seen from the primary. */
export class WorkerProcess {
  readonly id: number;
  readonly ended: Promise<WorkerEnd>;
  readonly #worker: Worker;
  readonly #channel: WorkerChannel;
  #health: readonly SentHealth[] = [];
  #listening = false;
  #unanswered = 0;

  private constructor(worker: Worker, needs: WorkerNeeds) {
    this.id = worker.id;
    this.#worker = worker;
    const turns = new TurnsForWorker(needs.turns, { runCheck: (id) => this.#channel.runCheck(id) });
    const functions: PrimaryFunctions = {
      takeTurn: (id, request) => turns.take(id, request),
      callerGone: (id) => turns.callerGone(id),
      findKey: (kid) => needs.findKey(kid),
      remembered: (match) => needs.remembered(match, this),
      health: (states) => {
        this.#health = states;
      },
    };
    this.#channel = channelToWorker(
      {
        send: (message) => void (worker.isConnected() && worker.send(message as object)),
        onMessage: (listener) => worker.on('message', listener),
      },
      functions,
    );
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: string | null) => {
        this.#listening = false;
        turns.close();
        this.#channel.$close();
        resolve({ code, signal });
      };
      worker.once('exit', end);
      // A message that could not be sent is no fault of its own: the worker has ended, and its exit is about to be told.
      // Of a process that the system would not start there is no exit.
      worker.on('error', () => worker.process.pid === undefined && end(null, null));
    });
  }

  /** Starts the process, which then waits to be told what to do. */
  static fork(file: string, environment: Environment, needs: WorkerNeeds): WorkerProcess {
    cluster.setupPrimary({ exec: file, args: [], serialization: 'advanced' });
    return new WorkerProcess(cluster.fork(environment), needs);
  }

  /** Whether it takes requests. */
  get listening(): boolean {
    return this.#listening;
  }

  /** What it last said of its dependencies. */
  get health(): readonly SentHealth[] {
    return this.#health;
  }

  /** Resolves when it listens, with where. Throws with the reason where it cannot. */
  async start(start: WorkerStart): Promise<{ readonly address: string; readonly port: number }> {
    const started = await this.#channel.start(start);
    if ('problem' in started) throw new Error(started.problem);
    this.#listening = true;
    return started;
  }

  /** Asks for a sign of life, and tells how many questions before it were not answered since the last that was. */
  feelPulse(): number {
    const unanswered = this.#unanswered;
    this.#unanswered += 1;
    this.#tell(
      this.#channel.ping().then(() => {
        this.#unanswered = 0;
      }),
    );
    return unanswered;
  }

  /** What it measured. Undefined where it has not started, has ended or does not answer in time. */
  async metrics(withinMs: number): Promise<SentMetrics | undefined> {
    if (!this.#listening) return undefined;
    const answered = new AbortController();
    try {
      return await Promise.race([this.#channel.metrics(), delay(withinMs, undefined, { signal: answered.signal })]);
    } catch {
      return undefined;
    } finally {
      answered.abort();
    }
  }

  tellKeys(keys: SentKeys): void {
    this.#tell(this.#channel.takeKeys(keys));
  }

  tellMatch(match: SentMatch): void {
    this.#tell(this.#channel.remember(match));
  }

  /** Has it end what is in flight and end itself. */
  stop(manner: 'planned' | 'at once'): void {
    this.#tell(this.#channel.stop(manner));
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  /** Whoever ends in between needs to be told nothing any more. */
  #tell(told: Promise<unknown>): void {
    told.catch(() => {});
  }
}
