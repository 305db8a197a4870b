import { type BirpcReturn, createBirpc } from 'birpc';
import type { KeyRingState } from '../../application/keys/key-ring-state.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { CheckState } from '../../application/ports/health-check.ts';
import type { IssuerKeySet } from '../../application/ports/issuer-keys.ts';
import type { AnswerRoutes, SharedPort, ShutdownMode } from '../../application/ports/processes.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import type {
  MetricsSnapshot,
  ProcessFigures,
  RefusalQuery,
  RefusalRecord,
} from '../../application/ports/telemetry.ts';
import type { AssertionUse, UseOutcome } from '../../application/ports/used-assertions.ts';
import { type SlotRequest, SlotsExhausted, type VerificationSlot } from '../../application/ports/verification-slots.ts';
import type { VerifiedSecret } from '../../application/ports/verified-secrets.ts';

/** A slot request as it is sent. Separate messages report that the caller has disconnected, and ask for the registration. */
type SentSlotRequest = Omit<SlotRequest, 'caller' | 'waitMs' | 'isRegistered'> & { readonly network: string };

/** The state of the key ring, and its signing key in PKCS#8. The key is a secret: it is sent over the pipes of this service only. */
export interface SentKeys {
  readonly state: KeyRingState;
  readonly privateKey: Uint8Array | undefined;
}

/** The key sets of all trusted issuers. They are public. */
export type SentIssuerKeys = ReadonlyMap<string, IssuerKeySet>;

/** Everything that a worker needs before it starts. Keys and costs are sent before it listens, and whenever they change. */
export interface WorkerStart {
  readonly worker: number;
  readonly sharedPort: SharedPort;
  /** The text of each file that the settings name, as the primary read it. */
  readonly files: ReadonlyMap<string, string>;
  /** The key of the cache of verified secrets. */
  readonly cacheKey: Uint8Array;
}

/** Where a worker listens. */
export interface WorkerAddress {
  readonly address: string;
  readonly port: number;
}

/** What a worker asks of the primary. A fault is thrown as DependencyUnavailable or SlotsExhausted. */
export interface PrimaryFunctions {
  /** Resolves with the kind of the slot. */
  acquireSlot(id: number, request: SentSlotRequest): Promise<VerificationSlot['refusals'] | 'attempts_exhausted'>;
  settleSlot(id: number, verdict: SecretVerdict): Promise<SecretVerdict | 'attempts_exhausted'>;
  callerDisconnected(id: number): Promise<void>;
  /** The worker neither waits for this slot nor holds it any longer. If it was granted, it is given back without a verdict. */
  abandonSlot(id: number): Promise<void>;
  /** As UsedAssertions. */
  useAssertions(uses: readonly AssertionUse[]): Promise<readonly UseOutcome[]>;
  /** Looks up a key id. Resolves when the worker has taken the keys that there are then. */
  findKey(kid: string): Promise<void>;
  /** Rejects if the primary has no such route. */
  answerRoute: AnswerRoutes;
  secretVerified(secret: VerifiedSecret): void;
  /** A stored secret has this BCrypt cost, which no process knew. */
  costFound(cost: number): void;
  health(states: readonly CheckState[]): void;
}

/** What the primary asks of a worker. A fault is thrown in the same way. */
export interface WorkerFunctions {
  /** Resolves when the worker could listen. Rejects with the reason why it cannot. */
  start(start: WorkerStart): Promise<void>;
  /** Resolves when the worker listens. Rejects with the system's error. */
  listen(): Promise<WorkerAddress>;
  /** A heartbeat: a blocked event loop does not answer it. */
  ping(): void;
  /** The only way of the keys to a worker, so that newer ones never come before older ones. */
  takeKeys(keys: SentKeys): Promise<void>;
  cacheSecret(secret: VerifiedSecret): void;
  takeIssuerKeys(sets: SentIssuerKeys): void;
  /** Whether the client of the slot request with this id is registered. */
  isRegistered(id: number): Promise<boolean>;
  /** A stored secret has this BCrypt cost. */
  includeCost(cost: number): void;
  /** Opens log files again. Resolves with whether that was possible. */
  reopenFiles(): Promise<boolean>;
  metrics(): Promise<MetricsSnapshot>;
  figures(): Promise<ProcessFigures>;
  findRefusals(query: RefusalQuery): readonly RefusalRecord[];
  stop(mode: ShutdownMode): Promise<void>;
}

/** One end of the pipe between the primary and a worker. */
export interface Pipe {
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
}

/** The functions of the other process. Closing it rejects the calls in progress. */
export type WorkerPipe = BirpcReturn<WorkerFunctions, PrimaryFunctions>;
export type PrimaryPipe = BirpcReturn<PrimaryFunctions, WorkerFunctions>;

/** A message of birpc. */
interface Message {
  /** What the function threw. */
  readonly e?: unknown;
  /** In place of a fault, which would lose its class. */
  readonly fault?: { readonly dependency: string; readonly reason: string; readonly isExhausted: boolean };
}

/** Of a fault that is none of ours, only its message is sent: the rest of it may be something that no message can carry. */
function withSentFault(message: Message): Message {
  const { e: fault } = message;
  if (fault === undefined) return message;
  if (!(fault instanceof DependencyUnavailable)) {
    return { ...message, e: new Error(fault instanceof Error ? fault.message : 'unknown fault') };
  }
  const reason = fault.cause instanceof Error ? fault.cause.message : 'unknown fault';
  const isExhausted = fault instanceof SlotsExhausted;
  return { ...message, e: undefined, fault: { dependency: fault.dependency, reason, isExhausted } };
}

function withReceivedFault(message: Message): Message {
  if (message.fault === undefined) return message;
  const { dependency, reason, isExhausted } = message.fault;
  return {
    ...message,
    e: isExhausted ? new SlotsExhausted(reason) : new DependencyUnavailable(dependency, new Error(reason)),
  };
}

// No time limit for all calls alike: a start and a stop may take long. Those that a request or a scrape waits for have limits
// of their own, and the pipe closes when either process ends.
const options = ({ send, onMessage }: Pipe) => ({
  post: send,
  on: onMessage,
  timeout: -1,
  serialize: withSentFault,
  deserialize: withReceivedFault,
});

/** Connects the primary to a worker. */
export function connectToWorker(pipe: Pipe, functions: PrimaryFunctions): WorkerPipe {
  return createBirpc<WorkerFunctions, PrimaryFunctions>(functions, {
    ...options(pipe),
    eventNames: ['cacheSecret', 'includeCost', 'takeIssuerKeys'],
  });
}

/** Connects a worker to the primary. */
export function connectToPrimary(pipe: Pipe, functions: WorkerFunctions): PrimaryPipe {
  return createBirpc<PrimaryFunctions, WorkerFunctions>(functions, {
    ...options(pipe),
    // `callerDisconnected` and `abandonSlot` are calls, not events: an event could overtake the `acquireSlot` call of the same id.
    eventNames: ['secretVerified', 'costFound', 'health'],
  });
}
