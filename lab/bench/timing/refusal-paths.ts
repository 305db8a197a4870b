import type { AssertionClients } from '../assertion-clients.ts';
import type { PathName } from '../command-line.ts';
import { RawConnection } from '../raw-connection.ts';
import { tokenRequest } from '../token-requests.ts';
import { type Collection, collectInTurn, collectSpaced, type SamplingPlan } from './collect-samples.ts';
import { QueueFiller } from './queue-filler.ts';
import { type Case, CLIENTS_PER_CASE, requestFor } from './timing-cases.ts';

/** What a measurement of one path needs to know. */
export interface Target {
  readonly port: number;
  readonly cases: readonly Case[];
  readonly count: number;
  /** Signs assertions for the registered clients with another key than theirs. */
  readonly forger: AssertionClients;
}

interface RefusalPath {
  /** Whether clients sign assertions instead of sending a secret. */
  readonly signs?: true;
  /** The BCrypt cost, if the path decides it. */
  readonly cost?: number;
  readonly failuresPerMinute: number;
  /** A file of this folder that is imported into the service first. */
  readonly module?: string;
  /** Whether a planted difference has to be found. Otherwise the report only says what can be found. */
  readonly powerRequired?: true;
  /** Whether a response is of this path. */
  readonly accepts: SamplingPlan['accepts'];
  collect(target: Target, accepts: SamplingPlan['accepts']): Promise<Collection>;
}

/** A connection gets at most 20 refusals a second without a delay. */
const CONNECTIONS_IN_TURN = 128;

/** Enough for responses that take ten seconds. */
const SPACED_CONNECTIONS = 1_200;

const UNLIMITED = 1_000_000;

/** A verification takes most of a second: hardly a place in the queue gets free while it is full. */
const SLOW_COST = 14;

/** From here on, a refusal has waited. */
const WAITED_US = 100_000;

export const REFUSAL_PATHS: Readonly<Record<PathName, RefusalPath>> = {
  '401': {
    failuresPerMinute: UNLIMITED,
    accepts: ({ status }) => status === 401,
    collect: (target, accepts) => inTurn(target, { accepts }),
  },
  // Signed with a key that nobody registered. Clients with a cheaper hash are registered for another method.
  '401-assertion': {
    signs: true,
    failuresPerMinute: UNLIMITED,
    accepts: ({ status }) => status === 401,
    collect: (target, accepts) =>
      inTurn(target, { accepts, requestFor: (clientId) => tokenRequest(target.forger.bodyOf(clientId)) }),
  },
  // The same assertions as the grant jwt-bearer.
  '400-grant': {
    signs: true,
    failuresPerMinute: UNLIMITED,
    accepts: ({ status }) => status === 400,
    collect: (target, accepts) =>
      inTurn(target, { accepts, requestFor: (clientId) => tokenRequest(target.forger.bodyOf(clientId, 'grant')) }),
  },
  // Beyond the limit, which is one attempt in two seconds.
  '429': {
    failuresPerMinute: 1,
    powerRequired: true,
    accepts: ({ status }) => status === 429,
    collect: (target, accepts) => inTurn(target, { accepts, clients: 1 }),
  },
  '503-full': {
    module: 'small-queue.ts',
    cost: SLOW_COST,
    failuresPerMinute: UNLIMITED,
    powerRequired: true,
    accepts: ({ status, microseconds }) => status === 503 && microseconds < WAITED_US,
    async collect(target, accepts) {
      using filler = new QueueFiller(target.port);
      return await inTurn(target, { accepts, prepare: filler.fill });
    },
  },
  // Verifications of cost 14 run beside the requests.
  '503-late': {
    cost: SLOW_COST,
    failuresPerMinute: UNLIMITED,
    accepts: ({ status, microseconds }) => status === 503 && microseconds >= WAITED_US,
    collect: (target, accepts) => spaced(target, { accepts }, 100),
  },
};

type Particulars = Pick<SamplingPlan, 'accepts'> & Partial<SamplingPlan>;

async function inTurn(target: Target, particulars: Particulars): Promise<Collection> {
  await using opened = new AsyncDisposableStack();
  return await collectInTurn(planOf(target, particulars, CONNECTIONS_IN_TURN, opened));
}

async function spaced(target: Target, particulars: Particulars, perSecond: number): Promise<Collection> {
  await using opened = new AsyncDisposableStack();
  return await collectSpaced(planOf(target, particulars, SPACED_CONNECTIONS, opened), perSecond);
}

function planOf(
  { port, cases, count }: Target,
  particulars: Particulars,
  size: number,
  opened: AsyncDisposableStack,
): SamplingPlan {
  const connections = Array.from({ length: size }, () => opened.use(new RawConnection(port)));
  return { connections, cases, count, clients: CLIENTS_PER_CASE, requestFor, prepare: async () => {}, ...particulars };
}
