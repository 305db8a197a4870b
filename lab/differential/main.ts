import { checkRows } from '../../tests/contract/check.ts';
import { TOKEN_ROWS } from '../../tests/contract/rows.ts';
import { serverAt } from '../../tests/contract/targets.ts';
import { AUTHORIZATIONS } from '../../tests/hostile/authorizations.ts';
import { CONTENT_CODINGS, ENCODINGS, MEDIA_TYPES } from '../../tests/hostile/encodings.ts';
import { CHUNKS, FRAMINGS } from '../../tests/hostile/framings.ts';
import { CREDENTIAL_VALUES, GRANTS_AND_SCOPES, PARAMETERS } from '../../tests/hostile/parameters.ts';
import { freePort } from '../../tests/support/free-port.ts';
import { ServerProcess } from '../../tests/support/server-process.ts';
import { peerFile, peerVersion } from '../bench/peers.ts';
import { writeClientsFile } from '../bench/registrations.ts';
import { say } from '../bench/report.ts';
import { type Comparison, compare, isTokenRequest } from './compare.ts';
import { findProblems, readExplanations } from './explanations.ts';

// npm run differential: sends the hostile token requests to this service and to oidc-provider, and fails unless
// differences.txt has each difference. The first run installs packages, so it needs the network.

const REQUESTS = [
  ...[ENCODINGS, MEDIA_TYPES, CONTENT_CODINGS, PARAMETERS, CREDENTIAL_VALUES, GRANTS_AND_SCOPES],
  ...[AUTHORIZATIONS, FRAMINGS, CHUNKS],
]
  .flat()
  .filter(isTokenRequest);
const CLIENTS = ['good-client', 'wronged-client'].map((client_id) => ({
  client_id,
  client_secret: '{noop}good-secret',
  client_name: client_id,
  scope: 'read write',
}));

await using opened = new AsyncDisposableStack();
const clientsFile = await writeClientsFile(CLIENTS, opened);
const [port, managementPort, peerPort] = [await freePort(), await freePort(), await freePort()];
const service = opened.use(
  new ServerProcess(process.cwd(), ['config/main.ts'], {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: clientsFile,
    CLIENT_SECRET_COST: '4',
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_GRACE_MS: '0',
  }),
);
const peer = opened.use(
  new ServerProcess(process.cwd(), [peerFile('oidc-provider.mjs')], {
    BASE_URL: `http://localhost:${peerPort}`,
    CLIENTS_FILE: clientsFile,
    PORT: String(peerPort),
    PROCESSES: '1',
  }),
);
await Promise.all([
  service.answers(`http://127.0.0.1:${managementPort}/readyz`),
  peer.answers(`http://127.0.0.1:${peerPort}/jwks`),
]);

const comparisons: Comparison[] = [];
for (const request of REQUESTS) comparisons.push(await compare(request, port, peerPort));

const held = await checkRows(TOKEN_ROWS, {
  send: serverAt(new URL(`http://127.0.0.1:${peerPort}`)),
  clientId: 'good-client',
  clientSecret: 'good-secret',
  tokenPath: '/token',
});
const departures = held.filter(({ problems }) => problems.length > 0);
say(
  `${held.length - departures.length} of ${held.length} rows of the contract's token endpoint hold for oidc-provider. These do not:`,
);
for (const { row, problems } of departures) say(`- ${row.severity}, ${row.name}: ${problems.join('; ')}`);

const differences = comparisons.filter((row) => row.service !== row.peer);
const problems = findProblems(comparisons, readExplanations());
for (const problem of problems) say(problem);
say(
  `${comparisons.length} requests to this service and to oidc-provider ${await peerVersion('oidc-provider')}: ` +
    `${comparisons.length - differences.length} same responses, ${differences.length} differences, ${problems.length} problems.`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
