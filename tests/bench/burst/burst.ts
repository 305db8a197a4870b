import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../support/free-port.ts';
import { startInMemory } from '../candidates.ts';
import { hashedSecret, RECOMMENDED_COST, registrations, SECRET } from '../registrations.ts';
import { machineLines, markdownList, say } from '../report.ts';
import { ServerProcess } from '../server-process.ts';
import { requestOf } from '../timing/timing-cases.ts';
import { type Burst, burstReport, passes } from './burst-report.ts';
import { sendFirstRequests } from './first-requests.ts';

export interface BurstOptions {
  readonly rounds: number;
  /** How many connections open at the same time. */
  readonly connections: readonly number[];
}

const CLIENTS = 16;

/** Bursts before the first round, so that the code is compiled. */
const WARM_UP_BURSTS = 3;

const SIGNING_SERVER = fileURLToPath(new URL('./signing-server.ts', import.meta.url));
const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * `npm run bench -- burst`: the first requests of connections that open at the same time, such as after a deployment of all
 * callers. Next to the service, in turn with it: the limit, which is what the machine needs to sign as often in bare node:http.
 */
export async function runBurst(options: BurstOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const clients = registrations('client', CLIENTS, await hashedSecret(RECOMMENDED_COST));
  const service = portOf((await startInMemory('memory', clients, opened)).tokenUrls);
  const limit = await startSigningServers(opened);
  const largest = Math.max(...options.connections);
  for (const port of [service, limit]) {
    // The secrets are cached from here on.
    for (let n = 0; n < WARM_UP_BURSTS; n += 1) await sendFirstRequests(port, requests(n === 0 ? CLIENTS : largest));
  }
  const bursts: Burst[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    say(`round ${round} of ${options.rounds} …`);
    for (const connections of options.connections) {
      const ofLimit = await sendFirstRequests(limit, requests(connections));
      bursts.push({ connections, ofLimit, ofService: await sendFirstRequests(service, requests(connections)) });
    }
  }
  process.stdout.write(`${markdownList(machineLines())}\n\n${burstReport(bursts)}\n`);
  return passes(bursts);
}

function requests(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) =>
    requestOf(`grant_type=client_credentials&client_id=client-${1 + (n % CLIENTS)}&client_secret=${SECRET}`),
  );
}

/** One on each core. Returns the port that they share. */
async function startSigningServers(opened: AsyncDisposableStack): Promise<number> {
  const port = await freePort();
  for (let core = 0; core < availableParallelism(); core += 1) {
    const server = opened.use(new ServerProcess(CHECKOUT, [SIGNING_SERVER], { PORT: String(port) }));
    await server.answers(`http://127.0.0.1:${port}/`);
  }
  return port;
}

function portOf([url = '']: readonly string[]): number {
  return Number(new URL(url).port);
}
