import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type GoodClientJob, type GoodClientResult, MEASURING } from './good-client-job.ts';
import { requestTokenAs } from './token-request.ts';

// The good clients, a process of their own: takes a GoodClientJob as JSON in its first argument, prints MEASURING after the
// warm-up and a GoodClientResult as JSON at the end. Requests leave when they are due, however long answers take.
const RETRY_MS_MAX = 250;
const UNSEEN_PATIENCE_MS = 20_000;

const job = JSON.parse(process.argv[2] ?? '') as GoodClientJob;
// A connection each; a second one is opened where a request is due while another one still waits.
const agents = Array.from({ length: job.connections }, () => new Agent({ keepAlive: true, maxFreeSockets: 1 }));

await askSteadily(job.warmUpSeconds);
process.stdout.write(`${MEASURING}\n`);
const unseen = askAsUnseen();
const result: GoodClientResult = { ...(await askSteadily(job.seconds)), unseenMs: await unseen };
process.stdout.write(JSON.stringify(result), () => process.exit());

async function askSteadily(seconds: number): Promise<Omit<GoodClientResult, 'unseenMs'>> {
  const latenciesMs: number[] = [];
  const latenessMs: number[] = [];
  const failures: Record<string, number> = {};
  const begin = performance.now();
  const pending: Promise<void>[] = [];
  for (let n = 0; n < seconds * job.ratePerSecond; n += 1) {
    const due = begin + (n * 1000) / job.ratePerSecond;
    if (performance.now() < due) await delay(due - performance.now());
    latenessMs.push(performance.now() - due);
    pending.push(ask(n, due));
  }
  await Promise.all(pending);
  return { latenciesMs, latenessMs, failures };

  async function ask(n: number, due: number): Promise<void> {
    const { outcome } = await requestTokenAs(clientOf(n), job, agentOf(n));
    if (outcome === '200') latenciesMs.push(performance.now() - due);
    else failures[outcome] = (failures[outcome] ?? 0) + 1;
  }
}

function clientOf(n: number): string {
  return job.clientIds[n % job.clientIds.length] ?? '';
}

/** Each client comes by each connection in time, so that every process of the service has seen it after the warm-up. */
function agentOf(n: number): Agent {
  return agents[((n % job.clientIds.length) + Math.floor(n / job.clientIds.length)) % agents.length] as Agent;
}

async function askAsUnseen(): Promise<readonly (number | null)[]> {
  return Promise.all(
    job.unseenClientIds.map(async (clientId, n) => {
      await delay((n + 0.5) * job.unseenEverySeconds * 1000);
      return timeToFirstToken(clientId);
    }),
  );
}

/** Retries what the service puts off: after Retry-After, and at least four times a second. */
async function timeToFirstToken(clientId: string): Promise<number | null> {
  const agent = new Agent({ keepAlive: true });
  const begin = performance.now();
  while (performance.now() - begin < UNSEEN_PATIENCE_MS) {
    const { outcome, retryAfterSeconds } = await requestTokenAs(clientId, job, agent);
    if (outcome === '200') {
      agent.destroy();
      return performance.now() - begin;
    }
    await delay(Math.min(retryAfterSeconds * 1000 || RETRY_MS_MAX, RETRY_MS_MAX));
  }
  return null;
}
