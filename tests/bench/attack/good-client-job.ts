/** What the process of the good clients is told. */
export interface GoodClientJob {
  readonly tokenUrl: string;
  readonly secret: string;
  /** They ask in turn, all together at the rate. */
  readonly clientIds: readonly string[];
  readonly ratePerSecond: number;
  readonly connections: number;
  /** Seconds at the same rate that are not counted. */
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** Clients that ask for the first time, one every `unseenEverySeconds`, for as long as is measured. */
  readonly unseenClientIds: readonly string[];
  readonly unseenEverySeconds: number;
}

/** Printed as a line once the warm-up is over. */
export const MEASURING = 'measuring';

/** What it tells at its end. */
export interface GoodClientResult {
  /** Milliseconds from the time for which a request was scheduled to its token, a value a token. */
  readonly latenciesMs: readonly number[];
  /** What came instead of a token, and how often: a status, or a code of the system. */
  readonly failures: Readonly<Record<string, number>>;
  /** Milliseconds by which requests left later than scheduled, a value a request: how well the driver itself kept up. */
  readonly latenessMs: readonly number[];
  /** Milliseconds from the first request of a client that was not seen before to its token; null where it got none. */
  readonly unseenMs: readonly (number | null)[];
}
