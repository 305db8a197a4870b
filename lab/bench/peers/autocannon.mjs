import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

// autocannon in its own process: takes a LoadJob as JSON in its first argument, prints a LoadResult as JSON.
const { tokenUrl, connections, seconds, clients, bodiesFile, timeoutSeconds } = JSON.parse(process.argv[2]);
const requests = Array.from({ length: clients.count }, (_, n) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: `grant_type=client_credentials&client_id=client-${1 + n * clients.step}&client_secret=${clients.secret}`,
}));
const bodies = bodiesFile === undefined ? undefined : readFileSync(bodiesFile, 'utf8').split('\n');
let sent = 0;
/** Sends each body once. After the last one, requests fail. */
const setupRequest = (request) => ({ ...request, body: bodies[sent++] ?? '' });
let started = 0;
const { duration, latency, non2xx, errors, ...result } = await autocannon({
  url: tokenUrl,
  connections,
  duration: seconds,
  timeout: timeoutSeconds,
  requests,
  // Each connection cycles through all clients and starts at a different one.
  setupClient(client) {
    if (bodies !== undefined) return client.setRequests([{ ...requests[0], setupRequest }]);
    const start = Math.floor((started * requests.length) / connections);
    client.setRequests([...requests.slice(start), ...requests.slice(0, start)]);
    started += 1;
  },
});
// Its duration is in seconds, its latencies are milliseconds of responses with status 2xx.
const tokens = result['2xx'];
const counts = { tokens, tokensPerSecond: tokens / duration, failures: non2xx + errors };
process.stdout.write(JSON.stringify({ ...counts, p50Ms: latency.p50, p99Ms: latency.p99 }));
