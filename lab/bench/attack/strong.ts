import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type AssertionMethod, methodSettings, signingClients, workloads } from '../assertion-clients.ts';
import { startOn } from '../candidates.ts';
import type { Options, Repository } from '../command-line.ts';
import { RawConnection } from '../raw-connection.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from '../registrations.ts';
import { figure, print, printVerdicts, say, table, type Verdict } from '../report.ts';
import { guessFor, secretRequest } from '../token-requests.ts';
import type { ResponseCount } from './connection-flood.ts';
import type { FloodName } from './floods.ts';
import {
  CLIENT_COLUMNS,
  countText,
  type LegitimateResult,
  legitimateFigures,
  legitimateJob,
  runFloods,
  runLegitimateClients,
} from './programs.ts';

/** Clients beside a flood. */
interface FloodedClients {
  readonly flood: FloodName;
  readonly clients: LegitimateResult;
  readonly answers: ResponseCount;
}

export interface StrongResult {
  /** Of guesses. The newcomers send secrets. */
  readonly floods: readonly FloodedClients[];
  /** Of forged assertions. The newcomers sign assertions. */
  readonly assertionFloods: readonly FloodedClients[];
  /** Milliseconds from the end of the burst to the owner's token; Infinity if there was none. */
  readonly lockOutMs: number;
}

/** How long known clients send requests, and how many a second. */
type Load = Pick<Options<'attack'>, 'seconds' | 'rate'>;

const KNOWN_CLIENTS = 20;
const NEWCOMERS = 10;

/** More requests than a newcomer can send before their time is over. */
const BODIES_OF_NEWCOMER = 20;

/** Seconds from the start of a flood until the first newcomer, and those that a flood goes on after the clients. */
const LEAD_SECONDS = 2;
const SURPLUS_SECONDS = 3;

/** Retries of newcomers follow `Retry-After`, up to this. */
const RETRY_MS_MAX = 2_000;

const OWNER_RETRY_MS = 250;
const OWNER_MS_MAX = 20_000;

/** How long each wrong request waits for its response before it is abandoned, in milliseconds. */
const ABANDON_MS = 100;

/** Another address of this machine, on Linux. */
const OTHER_ADDRESS = '127.0.0.2';

const NEWCOMER_MS_MAX = 3_000;
const P99_MS_MAX = 100;
const LOCK_OUT_MS_MAX = 5_000;

/** Attacks with one aim each, against services of their own with their registrations in this repository. */
export async function runStrong(repository: Repository, options: Load, opened: AsyncDisposableStack): Promise<boolean> {
  const beside = (flood: FloodName, method?: AssertionMethod) =>
    measureBeside(flood, repository, options, opened, method);
  const floods = [await beside('guesses, 500'), await beside('guesses, 2,000')];
  const assertionFloods = [
    await beside('forged assertions, 100', 'private_key_jwt'),
    await beside('forged identities, 100', 'federated_jwt'),
  ];
  const clients = registrations('new', 1, await hashedSecret(RECOMMENDED_COST));
  const against = async (name: string, attack: typeof measureLockOut | typeof measureHiddenGuess) => {
    say(`strong, ${repository}: ${name} …`);
    await using running = new AsyncDisposableStack();
    const { port } = await startOn(repository, clients, running);
    return await attack(port, 'new-1', SECRET);
  };
  const lockOutMs = await against('lock-out', measureLockOut);
  const hiddenGuessMs = await against('hidden guess', measureHiddenGuess);

  print(`### Strong attackers, repository: ${repository}`);
  const rows = [...floods, ...assertionFloods].map((row) => ({ ...row, ...legitimateFigures(row.clients) }));
  print(
    table(rows, [
      ['flood', ({ flood }) => flood],
      ...CLIENT_COLUMNS,
      ['responses to attackers', ({ answers }) => countText(answers)],
    ]),
  );
  print(
    `310 abandoned guesses for one client: its owner has a token ${figure(lockOutMs / 1_000, 2)} s after the burst.`,
    `1,950 guesses in a burst and the right secret behind them: a token after ${figure(hiddenGuessMs)} ms.`,
  );
  return printVerdicts(strongVerdicts({ floods, assertionFloods, lockOutMs }));
}

/**
 * The requirements on newcomers, known clients and the owner of a guessed id. They are judged under the smaller flood
 * of guesses, and under each flood of forged assertions.
 */
export function strongVerdicts({ floods, assertionFloods, lockOutMs }: StrongResult): readonly Verdict[] {
  const judged = [
    ['guesses', floods.slice(0, 1)],
    ['forged assertions', assertionFloods],
  ] as const;
  return [
    ...judged.flatMap(([flood, results]) => {
      const figures = results.map(({ clients }) => legitimateFigures(clients));
      return [
        {
          requirement: `beside ${flood}, every newcomer gets a token within ${NEWCOMER_MS_MAX / 1_000} s`,
          passed: figures.every(({ newClientHighestMs }) => newClientHighestMs <= NEWCOMER_MS_MAX),
        },
        {
          requirement: `beside ${flood}, the p99 of known clients is below ${P99_MS_MAX} ms`,
          passed: figures.every(({ p99Ms }) => p99Ms < P99_MS_MAX),
        },
      ];
    }),
    {
      requirement: `the owner of a guessed id gets a token within ${LOCK_OUT_MS_MAX / 1_000} s after the burst`,
      passed: lockOutMs <= LOCK_OUT_MS_MAX,
    },
  ];
}

/** Known clients and newcomers beside a flood. @param method the one of the newcomers, if they sign assertions. */
async function measureBeside(
  flood: FloodName,
  repository: Repository,
  { seconds, rate }: Load,
  opened: AsyncDisposableStack,
  method?: AssertionMethod,
): Promise<FloodedClients> {
  say(`strong, ${repository}: ${flood} …`);
  await using running = new AsyncDisposableStack();
  opened.defer(() => running.disposeAsync());
  const stored = await hashedSecret(RECOMMENDED_COST);
  const known = registrations('client', KNOWN_CLIENTS, stored);
  const newcomers = registrations('new', NEWCOMERS, stored);
  const assertions = method && (await (method === 'private_key_jwt' ? signingClients() : workloads('ES384', running)));
  const registered = [...known, ...(assertions?.register(newcomers) ?? newcomers)];
  const environment = method && methodSettings(['client_secret_post', method], assertions);
  const { port, tokenUrls } = await startOn(repository, registered, running, {
    ...(environment && { environment }),
    assertions,
  });
  const bodies = (id: string) => Array.from({ length: BODIES_OF_NEWCOMER }, () => assertions?.bodyOf(id) ?? '');
  const plan = { seconds, rate, connections: 16, newClientEverySeconds: seconds / NEWCOMERS, retryMsMax: RETRY_MS_MAX };
  const usual = legitimateJob(tokenUrls[0] ?? '', known, newcomers, plan);
  const job = {
    ...usual,
    warmUpSeconds: usual.warmUpSeconds + LEAD_SECONDS,
    ...(assertions && { newClientBodies: newcomers.map(({ client_id }) => bodies(client_id)) }),
  };
  // The flood begins when the clients have warmed up, less its lead.
  const flooding = delay((job.warmUpSeconds - LEAD_SECONDS) * 1_000).then(() =>
    runFloods({ port, floods: [flood], seconds: LEAD_SECONDS + seconds + SURPLUS_SECONDS }),
  );
  const [clients, [result]] = await runLegitimateClients(job, () => flooding);
  return { flood, clients, answers: result?.answers ?? {} };
}

/** Opens a connection and sends guesses, whose responses are discarded. */
function sendGuesses(port: number, clientId: string, count: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  socket.write(Array.from({ length: count }, () => guessFor(clientId)).join(''));
  return socket;
}

/**
 * Sends wrong requests for one client id and abandons them, all within two seconds and from the owner's address.
 * Returns how many milliseconds after the burst the owner has a token; Infinity if there is none after 20 s.
 */
export async function measureLockOut(port: number, clientId: string, secret: string, wrong = 310): Promise<number> {
  const everyMs = 2_000 / wrong;
  const begin = performance.now();
  for (let n = 0; n < wrong; n += 1) {
    if (performance.now() < begin + n * everyMs) await delay(everyMs);
    const socket = sendGuesses(port, clientId, 1);
    setTimeout(() => socket.destroy(), ABANDON_MS);
  }
  await delay(ABANDON_MS);
  const end = performance.now();
  using owner = new RawConnection(port);
  while (performance.now() < end + OWNER_MS_MAX) {
    if ((await owner.statusOf(secretRequest(clientId, secret))) === 200) return performance.now() - end;
    await delay(OWNER_RETRY_MS);
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * The owner gets a token at another address, so that the secret is cached. Then one burst of guesses for this client,
 * 15 to a connection, and the right secret behind them, from an address where it was never used. Returns after how many
 * milliseconds that has a token; Infinity if it gets none.
 */
export async function measureHiddenGuess(
  port: number,
  clientId: string,
  secret: string,
  wrong = 1_950,
): Promise<number> {
  const request = secretRequest(clientId, secret);
  using before = new RawConnection(port);
  if ((await before.statusOf(request, OTHER_ADDRESS)) !== 200) throw new Error('the owner got no token');
  const perConnection = 15;
  const sockets = Array.from({ length: wrong / perConnection }, () => sendGuesses(port, clientId, perConnection));
  const begin = performance.now();
  using behind = new RawConnection(port);
  const status = await behind.statusOf(request);
  for (const socket of sockets) socket.destroy();
  return status === 200 ? performance.now() - begin : Number.POSITIVE_INFINITY;
}
