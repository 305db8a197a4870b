import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

// autocannon in a process of its own: takes a job as JSON in its first argument, prints its result as JSON.
const { url, connections, seconds, clientIds, secret, bodiesFile, timeoutSeconds } = JSON.parse(process.argv[2]);
const requests = clientIds.map((id) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: `grant_type=client_credentials&client_id=${id}&client_secret=${secret}`,
}));
const bodies = bodiesFile === undefined ? undefined : readFileSync(bodiesFile, 'utf8').split('\n');
let sent = 0;
/** Sends each body once. After the last one, requests fail. */
const setupRequest = (request) => ({ ...request, body: bodies[sent++] ?? '' });
let started = 0;
const result = await autocannon({
  url,
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
process.stdout.write(JSON.stringify(result));
