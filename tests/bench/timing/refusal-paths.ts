import { type Collection, collectInTurn, collectSpaced, type SamplingPlan } from './collect-samples.ts';
import { QueueFiller } from './queue-filler.ts';
import { TimedConnection } from './timed-connection.ts';
import { type Case, clientIdsOf, requestFor } from './timing-cases.ts';

/** The ways in which a token request with wrong credentials is refused. */
export const PATHS = ['401', '429', '503-full', '503-late'] as const;
export type PathName = (typeof PATHS)[number];

/** What a measurement of one path needs to know. */
export interface Target {
  readonly port: number;
  readonly cases: readonly Case[];
  readonly count: number;
}

interface RefusalPath {
  /** Settings of the service; every other setting has its default. */
  environment(cost: number): { readonly CLIENT_SECRET_COST: string; readonly CLIENT_FAILURES_PER_MINUTE: string };
  /** A file of this folder that is imported into the service first. */
  readonly module?: string;
  /** Whether a planted difference has to be found, if the answers come at once. Otherwise the report says what can be found. */
  readonly powerRequired: boolean;
  collect(target: Target): Promise<Collection>;
}

/** A connection gets at most 20 refusals a second without a delay. */
const CONNECTIONS_IN_TURN = 128;

/** Enough for answers that take two seconds. */
const SPACED_CONNECTIONS = 700;
const SPACED_PER_SECOND = 150;

const UNLIMITED = '1000000';

/** A verification takes most of a second: hardly a place in the queue gets free while it is full. */
const SLOW_COST = '14';

/** More on one connection would be answered with a delay. */
const ATTEMPTS_MAX = 20;

/** From here on, a refusal has waited. */
const WAITED_US = 100_000;

export const REFUSAL_PATHS: Readonly<Record<PathName, RefusalPath>> = {
  '401': {
    environment: (cost) => ({ CLIENT_SECRET_COST: String(cost), CLIENT_FAILURES_PER_MINUTE: UNLIMITED }),
    powerRequired: false,
    collect: (target) => inTurn(target, ({ status }) => status === 401),
  },
  '429': {
    environment: (cost) => ({ CLIENT_SECRET_COST: String(cost), CLIENT_FAILURES_PER_MINUTE: '1' }),
    powerRequired: true,
    async collect(target) {
      const accepts: SamplingPlan['accepts'] = ({ status }) => status === 429;
      return (await exhaustAttempts(target)) < WAITED_US ? inTurn(target, accepts) : spaced(target, accepts);
    },
  },
  '503-full': {
    module: 'small-queue.ts',
    environment: () => ({ CLIENT_SECRET_COST: SLOW_COST, CLIENT_FAILURES_PER_MINUTE: UNLIMITED }),
    powerRequired: true,
    async collect(target) {
      using filler = new QueueFiller(target.port);
      return inTurn(target, ({ status, microseconds }) => status === 503 && microseconds < WAITED_US, filler.fill);
    },
  },
  '503-late': {
    environment: () => ({ CLIENT_SECRET_COST: SLOW_COST, CLIENT_FAILURES_PER_MINUTE: UNLIMITED }),
    powerRequired: true,
    collect: (target) => spaced(target, ({ status, microseconds }) => status === 503 && microseconds >= WAITED_US),
  },
};

async function inTurn(
  { port, ...target }: Target,
  accepts: SamplingPlan['accepts'],
  prepare: () => Promise<void> = async () => {},
): Promise<Collection> {
  using connections = openConnections(port, CONNECTIONS_IN_TURN);
  return await collectInTurn({ ...target, connections: connections.list, accepts, prepare });
}

async function spaced({ port, ...target }: Target, accepts: SamplingPlan['accepts']): Promise<Collection> {
  using connections = openConnections(port, SPACED_CONNECTIONS);
  return await collectSpaced({ ...target, connections: connections.list, accepts }, SPACED_PER_SECOND);
}

/** Fails for each client until it gets 429. Returns the shortest time of such an answer, in microseconds. */
async function exhaustAttempts({ port, cases }: Target): Promise<number> {
  const ids = cases.flatMap(clientIdsOf);
  using connections = openConnections(port, ids.length);
  const times = ids.map(async (id, place) => {
    const connection = connections.list[place];
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      await connection?.open();
      const answer = await connection?.send(requestFor(id));
      if (answer?.status === 429) return answer.microseconds;
    }
    throw new Error(`${ATTEMPTS_MAX} failures do not lead to 429`);
  });
  return Math.min(...(await Promise.all(times)));
}

function openConnections(port: number, count: number) {
  const list = Array.from({ length: count }, () => new TimedConnection(port));
  return {
    list,
    [Symbol.dispose]: () => {
      for (const connection of list) connection[Symbol.dispose]();
    },
  };
}
