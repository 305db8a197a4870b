import { SigningClients } from '../signing-clients.ts';
import { type Collection, collectInTurn, collectSpaced, type SamplingPlan } from './collect-samples.ts';
import { QueueFiller } from './queue-filler.ts';
import { TimedConnection } from './timed-connection.ts';
import { type Case, CLIENTS_PER_CASE, requestOf } from './timing-cases.ts';

/** The ways in which a token request with wrong credentials is refused. */
export const PATHS = ['401', '401-assertion', '429-tested', '429-untested', '503-full', '503-late'] as const;
export type PathName = (typeof PATHS)[number];

/** What a measurement of one path needs to know. */
export interface Target {
  readonly port: number;
  readonly cases: readonly Case[];
  readonly count: number;
  /** Of the service. */
  readonly issuer: string;
}

interface RefusalPath {
  /** Whether clients sign assertions instead of sending a secret. */
  readonly signs?: true;
  /** Settings of the service; every other setting has its default. */
  environment(cost: number): { readonly CLIENT_SECRET_COST: string; readonly CLIENT_FAILURES_PER_MINUTE: string };
  /** A file of this folder that is imported into the service first. */
  readonly module?: string;
  /** Whether a planted difference has to be found. Otherwise the report only says what can be found. */
  readonly powerRequired: boolean;
  collect(target: Target): Promise<Collection>;
}

/** A connection gets at most 20 refusals a second without a delay. */
const CONNECTIONS_IN_TURN = 128;

/** Enough for answers that take two seconds. */
const SPACED_CONNECTIONS = 1_200;

/** Requests per second: without verifications, with those of cost 14 next to them, and with one for each. */
const SPACED_PER_SECOND = 450;
const SPACED_PER_SECOND_LATE = 250;
const SPACED_VERIFICATIONS_PER_SECOND = 100;

const UNLIMITED = '1000000';

/** A verification takes most of a second: hardly a place in the queue gets free while it is full. */
const SLOW_COST = '14';

/** From here on, a refusal has waited. */
const WAITED_US = 100_000;

/** An attempt beyond the limit that was not selected is refused after 1.5 s. */
const NOT_SELECTED_US = 1_499_000;

export const REFUSAL_PATHS: Readonly<Record<PathName, RefusalPath>> = {
  '401': {
    environment: (cost) => ({ CLIENT_SECRET_COST: String(cost), CLIENT_FAILURES_PER_MINUTE: UNLIMITED }),
    powerRequired: false,
    collect: (target) => inTurn(target, ({ status }) => status === 401),
  },
  // Signed with a key that nobody registered. Clients with a cheaper hash are registered for another method.
  '401-assertion': {
    signs: true,
    environment: (cost) => ({ CLIENT_SECRET_COST: String(cost), CLIENT_FAILURES_PER_MINUTE: UNLIMITED }),
    powerRequired: false,
    collect(target) {
      const forger = new SigningClients(target.issuer);
      const forged = (clientId: string) => requestOf(forger.bodyOf(clientId));
      return inTurn(target, ({ status }) => status === 401, undefined, forged);
    },
  },
  // Each attempt is the only one of its client that waits, so it is selected, verified, and refused whatever the result.
  '429-tested': {
    environment: (cost) => ({ CLIENT_SECRET_COST: String(cost), CLIENT_FAILURES_PER_MINUTE: '1' }),
    powerRequired: false,
    collect: (target) => spaced(target, ({ status }) => status === 429, { perSecond: SPACED_VERIFICATIONS_PER_SECOND }),
  },
  // Of each case, many attempts of one client wait, and few are selected.
  '429-untested': {
    environment: (cost) => ({ CLIENT_SECRET_COST: String(cost), CLIENT_FAILURES_PER_MINUTE: '1' }),
    powerRequired: false,
    collect: (target) =>
      spaced(target, ({ status, microseconds }) => status === 429 && microseconds >= NOT_SELECTED_US, { clients: 1 }),
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
    powerRequired: false,
    collect: (target) =>
      spaced(target, ({ status, microseconds }) => status === 503 && microseconds >= WAITED_US, {
        perSecond: SPACED_PER_SECOND_LATE,
      }),
  },
};

async function inTurn(
  { port, ...target }: Target,
  accepts: SamplingPlan['accepts'],
  prepare: () => Promise<void> = async () => {},
  requestFor?: SamplingPlan['requestFor'],
): Promise<Collection> {
  using connections = openConnections(port, CONNECTIONS_IN_TURN);
  const plan = { ...target, clients: CLIENTS_PER_CASE, connections: connections.list, accepts, prepare };
  return await collectInTurn({ ...plan, ...(requestFor && { requestFor }) });
}

async function spaced(
  { port, ...target }: Target,
  accepts: SamplingPlan['accepts'],
  { clients = CLIENTS_PER_CASE, perSecond = SPACED_PER_SECOND } = {},
): Promise<Collection> {
  using connections = openConnections(port, SPACED_CONNECTIONS);
  return await collectSpaced({ ...target, clients, connections: connections.list, accepts }, perSecond);
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
