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

/** Why there is no slot or no verdict. */
export interface SentFault {
  readonly unavailable: string;
  /** Too many verifications wait. */
  readonly slotsExhausted?: true;
}

/** An error would lose its class when it is sent. */
export function sentFaultOf(reason: unknown): SentFault {
  const cause = reason instanceof DependencyUnavailable ? reason.cause : reason;
  const unavailable = cause instanceof Error ? cause.message : 'unknown fault';
  return reason instanceof SlotsExhausted ? { unavailable, slotsExhausted: true } : { unavailable };
}

/** What the other process answers. Throws DependencyUnavailable if that is a fault, or there is no answer. */
export async function answerOf<Answer>(dependency: string, asked: Promise<Answer | SentFault>): Promise<Answer> {
  const answer = await asked.catch((reason) => {
    throw new DependencyUnavailable(dependency, reason);
  });
  if (!isFault(answer)) return answer;
  throw new DependencyUnavailable(dependency, new Error(answer.unavailable));
}

function isFault(answer: unknown): answer is SentFault {
  return typeof answer === 'object' && answer !== null && 'unavailable' in answer;
}

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

/** What a worker asks of the primary. */
export interface PrimaryFunctions {
  /** Resolves with the kind of the slot. */
  acquireSlot(
    id: number,
    request: SentSlotRequest,
  ): Promise<VerificationSlot['refusals'] | 'attempts_exhausted' | SentFault>;
  /** Without a verdict: the verification failed. */
  settleSlot(id: number, verdict: SecretVerdict | undefined): Promise<SecretVerdict | 'attempts_exhausted' | SentFault>;
  callerDisconnected(id: number): Promise<void>;
  /** The worker waits for this slot no longer. If it was granted meanwhile, it is given back. */
  abandonSlot(id: number): Promise<void>;
  /** As UsedAssertions. */
  useAssertions(uses: readonly AssertionUse[]): Promise<readonly UseOutcome[] | SentFault>;
  /** Looks up a key id. Resolves when the worker has taken the keys that there are then; with the fault if the key directory is unavailable. */
  findKey(kid: string): Promise<SentFault | undefined>;
  /** Rejects if the primary has no such route. */
  answerRoute: AnswerRoutes;
  secretVerified(secret: VerifiedSecret): void;
  /** A stored secret has this BCrypt cost, which no process knew. */
  costFound(cost: number): void;
  health(states: readonly CheckState[]): void;
}

/** What the primary asks of a worker. */
export interface WorkerFunctions {
  /** Resolves when the worker could listen, or with the reason why it cannot. */
  start(start: WorkerStart): Promise<{ readonly problem?: string }>;
  /** Resolves when the worker listens. Rejects with the system's error. */
  listen(): Promise<WorkerAddress>;
  /** A heartbeat: a blocked event loop does not answer it. */
  ping(): void;
  /** The only way of the keys to a worker, so that newer ones never come before older ones. */
  takeKeys(keys: SentKeys): Promise<void>;
  cacheSecret(secret: VerifiedSecret): void;
  takeIssuerKeys(sets: SentIssuerKeys): void;
  /** Whether the client of the slot request with this id is registered. */
  isRegistered(id: number): Promise<boolean | SentFault>;
  /** A stored secret has this BCrypt cost. */
  includeCost(cost: number): void;
  /** Opens log files again. Resolves with whether that was possible. */
  reopenFiles(): Promise<boolean>;
  metrics(): Promise<MetricsSnapshot>;
  figures(): Promise<ProcessFigures>;
  findRefusals(query: RefusalQuery): readonly RefusalRecord[];
  stop(mode: ShutdownMode): Promise<void>;
}
