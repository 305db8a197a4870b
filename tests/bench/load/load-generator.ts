/** Load in a closed loop: each connection sends its next token request when the last one is answered. */
export interface LoadJob {
  readonly tokenUrl: string;
  readonly connections: number;
  /** Whole seconds. */
  readonly seconds: number;
  readonly clients: ClientWalk;
}

/** The clients `client-1`, `client-(1 + step)`, … one after another, all with one secret. */
export interface ClientWalk {
  readonly count: number;
  readonly step: number;
  readonly secret: string;
}

export interface LoadResult {
  /** Tokens a second: answers of status 200. */
  readonly tokensPerSecond: number;
  readonly tokens: number;
  /** Answers of another status, and connections that broke or waited in vain. */
  readonly failures: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadGenerator {
  /** Its name and version, for people. */
  readonly name: string;
  run(job: LoadJob): Promise<LoadResult>;
}

/** How long an answer may take before it counts as a failure. */
export const ANSWER_SECONDS_MAX = 10;
