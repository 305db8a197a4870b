import type { CheckRequest } from '../../application/ports/check-turns.ts';
import { FairShare } from './fair-share.ts';

/** Whoever waits here, with what he asks for. */
export interface Waiting {
  readonly request: CheckRequest;
}

/** `line`: first come, first served. `crowd`: those for whom the line has no room. */
export type Half = 'line' | 'crowd';

const HALVES: readonly Half[] = ['line', 'crowd'];

/** The lane of every client id that is not registered. */
const UNKNOWN = Symbol('unknown clients');

type Lane = string | symbol;

/**
 * Who waits for a turn, and who comes next. Line and crowd get half of the work each; within the crowd the lane comes next
 * that had least work done: each client has one, and unknown ids share one.
 */
export class WaitingRoom<Who extends Waiting> {
  readonly #lineRounds: number;
  readonly #crowdMax: number;
  readonly #line = new Set<Who>();
  readonly #crowd = new Map<Lane, Set<Who>>();
  readonly #halves = new FairShare<Half>();
  readonly #lanes = new FairShare<Lane>();
  #crowded = 0;

  /**
   * @param lineRounds BCrypt rounds that may wait in the line; one check may, whatever it costs.
   * @param crowdMax how many may wait in the crowd.
   */
  constructor(lineRounds: number, crowdMax: number) {
    this.#lineRounds = lineRounds;
    this.#crowdMax = crowdMax;
  }

  get load(): { readonly line: number; readonly crowd: number } {
    return { line: this.#line.size, crowd: this.#crowded };
  }

  enter(who: Who): void {
    if (this.#hasRoomInLine(who.request)) this.#line.add(who);
    else this.#joinCrowd(who);
  }

  /** Does nothing where he is not here. */
  leave(who: Who): void {
    this.#line.delete(who);
    const name = laneOf(who);
    const lane = this.#crowd.get(name);
    if (!lane?.delete(who)) return;
    this.#crowded -= 1;
    if (lane.size === 0) this.#crowd.delete(name);
  }

  /** Lets the next leave of those whose check may run now, and charges his half and lane for it. */
  takeNext(mayRun: (request: CheckRequest) => boolean): { readonly who: Who; readonly half: Half } | undefined {
    const halves = HALVES.filter((half) => {
      const next = this.#nextOf(half);
      return next !== undefined && mayRun(next.request);
    });
    const half = this.#halves.next(halves);
    const who = half && this.#nextOf(half);
    if (half === undefined || who === undefined) return undefined;
    const rounds = 2 ** who.request.cost;
    this.#halves.charge(half, rounds);
    if (half === 'crowd') this.#lanes.charge(laneOf(who), rounds);
    this.leave(who);
    return { who, half };
  }

  #nextOf(half: Half): Who | undefined {
    return first(half === 'line' ? this.#line : this.#nextLane());
  }

  #nextLane(): ReadonlySet<Who> | undefined {
    const name = this.#lanes.next(this.#crowd.keys());
    return name === undefined ? undefined : this.#crowd.get(name);
  }

  #hasRoomInLine({ cost }: CheckRequest): boolean {
    let rounds = 2 ** cost;
    for (const { request } of this.#line) rounds += 2 ** request.cost;
    return this.#line.size === 0 || rounds <= this.#lineRounds;
  }

  /** Where the crowd is full, the last of the longest lane gives up his turn. */
  #joinCrowd(who: Who): void {
    if (this.#crowded >= this.#crowdMax) {
      const longest = [...this.#crowd.values()].reduce((one, other) => (other.size > one.size ? other : one));
      const last = [...longest].at(-1);
      if (last !== undefined) this.leave(last);
    }
    const name = laneOf(who);
    const lane = this.#crowd.get(name) ?? new Set();
    this.#crowd.set(name, lane.add(who));
    this.#crowded += 1;
  }
}

function laneOf({ request }: Waiting): Lane {
  return request.registered ? request.clientId : UNKNOWN;
}

function first<Item>(items: Iterable<Item> = []): Item | undefined {
  const [item] = items;
  return item;
}
