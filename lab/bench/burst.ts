import { availableParallelism } from 'node:os';
import { freePort } from '../../tests/support/free-port.ts';
import { ServerProcess } from '../../tests/support/server-process.ts';
import { SIGNING_SERVER_FILE, startInMemory } from './candidates.ts';
import type { Options } from './command-line.ts';
import { RawConnection } from './raw-connection.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from './registrations.ts';
import { conditions, figure, median, percentile, print, printVerdicts, say, sum, table } from './report.ts';
import { secretRequest } from './token-requests.ts';

/** What connections that opened at the same time were answered. */
interface FirstRequests {
  /** Milliseconds from opening a connection to the first byte of its response, of each response with status 200. */
  readonly times: readonly number[];
  /** Requests that were answered 503: the service has only so many in progress at once. */
  readonly refused: number;
  /** Requests without a response, and those with another status. */
  readonly failures: number;
}

/** One burst on the service, and one on bare servers that only sign. */
export interface Burst {
  readonly connections: number;
  readonly ofService: FirstRequests;
  readonly ofLimit: FirstRequests;
}

const CLIENTS = 16;

/** Bursts before the first round, so that the code is compiled. */
const WARM_UP_BURSTS = 3;

/** How much longer than the limit the service may take at p99, in the median of the rounds. */
const RATIO_MAX = 2;

/**
 * `npm run bench -- burst`: the first requests of connections that open at the same time, such as after a deployment of
 * all callers. Next to the service, in turn with it: the limit, which is what the machine needs to sign as often in
 * bare node:http.
 */
export async function runBurst(options: Options<'burst'>, opened: AsyncDisposableStack): Promise<boolean> {
  const clients = registrations('client', CLIENTS, await hashedSecret(RECOMMENDED_COST));
  const { port: service } = await startInMemory('memory', clients, opened);
  const limit = await startSigningServers(opened);
  const send = (port: number, count: number) =>
    sendFirstRequests(
      port,
      Array.from({ length: count }, (_, n) => secretRequest(`client-${1 + (n % CLIENTS)}`, SECRET)),
    );
  const largest = Math.max(...options.connections);
  for (const port of [service, limit]) {
    // The secrets are cached from here on.
    for (let n = 0; n < WARM_UP_BURSTS; n += 1) await send(port, n === 0 ? CLIENTS : largest);
  }
  const bursts: Burst[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    say(`round ${round} of ${options.rounds} …`);
    for (const connections of options.connections) {
      const ofLimit = await send(limit, connections);
      bursts.push({ connections, ofLimit, ofService: await send(service, connections) });
    }
  }
  print(conditions());
  const figures = burstFigures(bursts);
  print(
    table(figures, [
      ['first requests at once', ({ connections }) => figure(connections)],
      ['p50 ms', ({ p50Ms }) => p50Ms],
      ['p99 ms', ({ p99Ms }) => p99Ms],
      ['p99 of each round', ({ rounds }) => rounds.map((p99Ms) => figure(p99Ms)).join(', ')],
      ['p99 of the limit', ({ limitMs }) => limitMs],
      ['ratio', ({ ratio }) => ratio, 2],
      ['503', ({ refused }) => refused],
      ['failures', ({ failures }) => failures],
    ]),
  );
  return printVerdicts([
    { requirement: 'every request is answered 200 or 503', passed: figures.every(({ failures }) => failures === 0) },
    {
      requirement: `p99 is at most ${RATIO_MAX} times that of the limit`,
      passed: figures.every(({ ratio }) => ratio <= RATIO_MAX),
    },
  ]);
}

/**
 * For each number of connections, medians over its rounds; the ratio is that of the p99 to the limit's in the same
 * round.
 */
export function burstFigures(bursts: readonly Burst[]) {
  const sizes = Map.groupBy(bursts, ({ connections }) => connections);
  const p99 = ({ times }: FirstRequests) => percentile(times, 99);
  return [...sizes].map(([connections, rounds]) => ({
    connections,
    p50Ms: median(rounds.map(({ ofService }) => percentile(ofService.times, 50))),
    p99Ms: median(rounds.map(({ ofService }) => p99(ofService))),
    rounds: rounds.map(({ ofService }) => p99(ofService)),
    limitMs: median(rounds.map(({ ofLimit }) => p99(ofLimit))),
    ratio: median(rounds.map(({ ofService, ofLimit }) => p99(ofService) / p99(ofLimit))),
    refused: sum(rounds.map(({ ofService }) => ofService.refused)),
    failures: sum(rounds.map(({ ofService }) => ofService.failures)),
  }));
}

/**
 * Opens all connections at the same time. Each sends its request as soon as it is open, and is closed after the
 * response.
 */
export async function sendFirstRequests(port: number, requests: readonly string[]): Promise<FirstRequests> {
  const answers = await Promise.all(
    requests.map(async (request) => {
      using connection = new RawConnection(port);
      const openedAt = performance.now();
      const status = await connection.statusOf(request);
      return { status, milliseconds: performance.now() - openedAt };
    }),
  );
  const times = answers.filter(({ status }) => status === 200).map(({ milliseconds }) => milliseconds);
  const refused = answers.filter(({ status }) => status === 503).length;
  return { times, refused, failures: answers.length - times.length - refused };
}

/** One on each core. Returns the port that they share. */
async function startSigningServers(opened: AsyncDisposableStack): Promise<number> {
  const port = await freePort();
  for (let core = 0; core < availableParallelism(); core += 1) {
    const server = opened.use(new ServerProcess(process.cwd(), [SIGNING_SERVER_FILE], { PORT: String(port) }));
    await server.answers(`http://127.0.0.1:${port}/`);
  }
  return port;
}
