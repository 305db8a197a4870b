import * as http from 'node:http';
import * as https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { type LegitimateJob, type LegitimateResult, MEASURING } from './programs.ts';

// The legitimate clients, a process of their own: takes a LegitimateJob as JSON in its first argument, prints MEASURING
// after the warm-up and a LegitimateResult as JSON at the end. Requests are sent on schedule, however long answers
// take.

/** How long a client waits for a response. */
const ANSWER_MS_MAX = 10_000;
/** How long a new client retries. */
const NEW_CLIENT_MS_MAX = 20_000;

const job = JSON.parse(process.argv[2] ?? '') as LegitimateJob;
// The certificate is one of the benchmark.
const { Agent, request } = job.tokenUrl.startsWith('https:') ? https : http;
const { maxSockets = Number.POSITIVE_INFINITY } = job;
const newAgent = () => new Agent({ keepAlive: true, maxFreeSockets: 1, maxSockets, rejectUnauthorized: false });
// One connection per agent. A second one is opened if a request is due while the previous one is still unanswered,
// unless the job says otherwise.
const agents = Array.from({ length: job.connections }, () => newAgent());

await sendSteadily(job.warmUpSeconds);
process.stdout.write(`${MEASURING}\n`);
const newClients = Promise.all(job.newClientIds.map(startNewClient));
const result: LegitimateResult = { ...(await sendSteadily(job.seconds)), newClientsMs: await newClients };
process.stdout.write(JSON.stringify(result), () => process.exit());

async function sendSteadily(seconds: number): Promise<Omit<LegitimateResult, 'newClientsMs'>> {
  const latenciesMs: number[] = [];
  const latenessMs: number[] = [];
  const failures: Record<string, number> = {};
  const begin = performance.now();
  const pending: Promise<void>[] = [];
  for (let n = 0; n < seconds * job.ratePerSecond; n += 1) {
    const due = begin + (n * 1000) / job.ratePerSecond;
    const early = due - performance.now();
    if (early > 0) await delay(early);
    latenessMs.push(performance.now() - due);
    pending.push(send(n, due));
  }
  await Promise.all(pending);
  return { latenciesMs, latenessMs, failures };

  async function send(n: number, due: number): Promise<void> {
    const { outcome } = await requestToken(job.clientIds[n % job.clientIds.length] ?? '', agentFor(n));
    if (outcome === '200') latenciesMs.push(performance.now() - due);
    else failures[outcome] = (failures[outcome] ?? 0) + 1;
  }
}

/** Over time each client uses each connection, so that after the warm-up every worker process knows every client. */
function agentFor(n: number): http.Agent {
  return agents[((n % job.clientIds.length) + Math.floor(n / job.clientIds.length)) % agents.length] as http.Agent;
}

/**
 * Milliseconds to the first token of a new client. Retries refusals after Retry-After, or sooner if the job says so.
 */
async function startNewClient(clientId: string, n: number): Promise<number | null> {
  await delay((n + 0.5) * job.newClientEverySeconds * 1000);
  const agent = newAgent();
  const begin = performance.now();
  for (let attempt = 0; performance.now() - begin < NEW_CLIENT_MS_MAX; attempt += 1) {
    const body = job.newClientBodies?.[n]?.[attempt];
    const { outcome, retryAfterSeconds } = await requestToken(clientId, agent, body);
    if (outcome === '200') {
      agent.destroy();
      return performance.now() - begin;
    }
    await delay(Math.min(retryAfterSeconds * 1000 || job.retryMsMax, job.retryMsMax));
  }
  return null;
}

/** The status, or the system's error code if there was no response; Retry-After is 0 if absent. Never rejects. */
function requestToken(
  clientId: string,
  agent: http.Agent,
  body = bodyWithSecret(clientId),
): Promise<{ readonly outcome: string; readonly retryAfterSeconds: number }> {
  const { tokenUrl } = job;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return new Promise((resolve) => {
    const fail = (error: NodeJS.ErrnoException) => resolve({ outcome: error.code ?? error.name, retryAfterSeconds: 0 });
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const outgoing = request(tokenUrl, { method: 'POST', headers, agent, signal }, (response) => {
      const retryAfterSeconds = Number(response.headers['retry-after'] ?? 0);
      response.resume();
      response.on('error', fail);
      response.on('end', () => resolve({ outcome: String(response.statusCode), retryAfterSeconds }));
    });
    outgoing.on('error', fail);
    outgoing.end(body);
  });
}

function bodyWithSecret(clientId: string): string {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: job.secret };
  return new URLSearchParams(form).toString();
}
