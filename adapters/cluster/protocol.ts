import type { KeyRingState } from '../../application/keys/key-ring-state.ts';
import type { CheckRequest } from '../../application/ports/check-turns.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';

/** A verdict, or why there is none: an error would lose its kind on the way. */
export type CheckOutcome = { readonly verdict: SecretVerdict } | { readonly unavailable: string };

/** A check request as it is sent: whether its caller has gone comes as a message of its own. */
export type SentCheckRequest = Omit<CheckRequest, 'caller'> & { readonly address: string; readonly proved: boolean };

/** A key ring, and its signing key in PKCS#8: a secret, which goes from process to process of this service and nowhere else. */
export interface SentKeys {
  readonly state: KeyRingState;
  readonly privateKey: Uint8Array | undefined;
}

/** What one worker found out, and tells its fellows. */
export interface SentMatch {
  readonly clientId: string;
  readonly digest: Uint8Array;
  readonly at: number;
}

/** The state of something that a worker cannot do without. */
export interface SentHealth {
  readonly name: string;
  readonly ready: boolean;
  readonly reason?: string;
  readonly note?: string;
}

/** What a worker measured, as plain data. The cluster only carries it. */
export type SentMetrics = readonly {
  readonly name: string;
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Partial<Record<string, string | number>>>;
  }[];
}[];

/** All that a worker needs to know before it starts. */
export interface WorkerStart {
  readonly worker: number;
  /** The text of each file that the settings name, as it was at the start of the service. */
  readonly files: ReadonlyMap<string, string | undefined>;
  readonly keys: SentKeys;
  readonly memoryKey: Uint8Array;
}

/** What a worker asks of the primary. */
export interface PrimaryFunctions {
  takeTurn(id: number, request: SentCheckRequest): Promise<CheckOutcome>;
  callerGone(id: number): void;
  /** Undefined where the key directory is out of reach. */
  findKey(kid: string): Promise<SentKeys | undefined>;
  remembered(match: SentMatch): void;
  health(states: readonly SentHealth[]): void;
}

/** What the primary asks of a worker. */
export interface WorkerFunctions {
  start(
    start: WorkerStart,
  ): Promise<{ readonly address: string; readonly port: number } | { readonly problem: string }>;
  /** Answers as long as the event loop turns. */
  ping(): void;
  runCheck(id: number): Promise<CheckOutcome>;
  takeKeys(keys: SentKeys): Promise<void>;
  remember(match: SentMatch): void;
  metrics(): Promise<SentMetrics>;
  stop(manner: 'planned' | 'at once'): Promise<void>;
}
