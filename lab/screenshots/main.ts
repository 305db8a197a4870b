import { mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openStatusPage, startChromium } from '../../tests/support/chromium.ts';
import { freePort } from '../../tests/support/free-port.ts';
import { runProgram } from '../../tests/support/program.ts';
import { SEALED_KEYS } from '../../tests/support/sealed-keys.ts';
import { OPERATOR_TOKEN } from '../../tests/support/status.ts';
import { postgresEnvironment, startBenchDatabaseServer } from '../bench/bench-database.ts';
import { hashedSecret, RECOMMENDED_COST, SECRET } from '../bench/registrations.ts';
import { drawTerminal } from './terminal.ts';

// `npm run screenshots`: starts two replicas on PostgreSQL, has clients ask for tokens for a few minutes, some of them
// in a wrong way, and takes the pictures of the README and docs/operate.md. Needs Chromium. Then draws the terminal of
// the README.

const SECONDS = Number(process.argv[2] ?? 220);
const FOLDER = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const CLIENTS = ['billing', 'inventory', 'nightly-report', 'warehouse-eu'];

const SHOTS = [
  { name: 'status-page-light', colorScheme: 'light', viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 },
  { name: 'status-page-dark', colorScheme: 'dark', viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 },
  {
    name: 'status-page-phone-light',
    colorScheme: 'light',
    viewport: { width: 360, height: 660 },
    deviceScaleFactor: 2,
  },
  { name: 'status-page-phone-dark', colorScheme: 'dark', viewport: { width: 360, height: 660 }, deviceScaleFactor: 2 },
] as const;

/** A wrong request, as it happens to people. */
const MISTAKES = [
  { client_id: 'billing', client_secret: 'the-secret-of-last-year' },
  { client_id: 'nightly-report', client_secret: SECRET, scope: 'admin' },
  { client_id: 'warehouse-us', client_secret: SECRET },
  { client_id: 'inventory', client_secret: '' },
];

await using opened = new AsyncDisposableStack();
await mkdir(FOLDER, { recursive: true });
const database = await (await startBenchDatabaseServer(opened)).create();
const [url, managementUrl] = await startReplica();
const client_secret = await hashedSecret(RECOMMENDED_COST);
await database.insert(
  CLIENTS.map((client_id) => ({ client_id, client_secret, client_name: client_id, scope: 'read write' })),
);
await startReplica();

const requestId = await load();
const browser = await startChromium();
opened.defer(() => browser.close());
for (const { name, ...options } of SHOTS) {
  const page = await openStatusPage(browser, `${managementUrl}/status?request=${requestId}`, OPERATOR_TOKEN, options);
  const isDesktop = options.viewport.width > 1_000;
  await page.screenshot({ path: `${FOLDER}${name}.png`, fullPage: isDesktop });
  // What the README shows: the sentence about now, and a refusal.
  const { y = 0, height = 0 } = (await page.locator('section').first().boundingBox()) ?? {};
  const clip = { x: 0, y: 0, width: 1_280, height: Math.round(y + height + 12) };
  if (isDesktop) await page.screenshot({ path: `${FOLDER}${name}-top.png`, clip });
  await page.context().close();
}
await drawTerminal();

/** A replica. Resolves with the URLs of its two ports. */
async function startReplica(): Promise<readonly [string, string]> {
  const [port, managementPort] = [await freePort(), await freePort()];
  const program = runProgram('config/main.ts', {
    ...postgresEnvironment(database.url, 2),
    ...SEALED_KEYS,
    KEY_PUBLICATION_SECONDS: '20',
    BASE_URL: 'https://auth.example.com',
    TRUSTED_PROXIES: '127.0.0.1/32',
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    MANAGEMENT_TOKEN: OPERATOR_TOKEN,
    SHUTDOWN_GRACE_MS: '0',
  });
  opened.use(program);
  await program.printed(/"event":"started"/);
  return [`http://127.0.0.1:${port}`, `http://127.0.0.1:${managementPort}`];
}

/**
 * Asks for tokens in waves, makes mistakes, and guesses for a while. Resolves with the request id of the last mistake.
 */
async function load(): Promise<string> {
  const ask = async (form: Readonly<Record<string, string>>, address: string) => {
    const response = await fetch(`${url}/oauth2/token`, {
      method: 'POST',
      headers: { 'X-Forwarded-For': address },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
    });
    await response.body?.cancel();
    return response;
  };
  for (const client_id of CLIENTS) await ask({ client_id, client_secret: SECRET }, '10.4.0.10');
  const begin = performance.now();
  for (let tick = 0; performance.now() - begin < SECONDS * 1_000; tick += 1) {
    const seconds = (performance.now() - begin) / 1_000;
    const tokens = Math.round(3 + 2 * Math.sin(seconds / 15) + Math.random());
    const asked = Array.from({ length: tokens }, (_, n) => {
      return ask({ client_id: CLIENTS[n % CLIENTS.length] ?? '', client_secret: SECRET }, `10.4.0.${10 + n}`);
    });
    const isGuessed = seconds > SECONDS * 0.3 && seconds < SECONDS * 0.45;
    const guesses = isGuessed ? 4 : 0;
    for (let n = 0; n < guesses; n += 1) {
      asked.push(ask({ client_id: 'inventory', client_secret: `guess-${tick}-${n}` }, `203.0.113.${n}`));
    }
    const mistake = MISTAKES[(tick / 15) % MISTAKES.length];
    if (tick % 15 === 0 && mistake) asked.push(ask(mistake, '10.4.2.17'));
    void Promise.allSettled(asked);
    await delay(100);
  }
  const response = await ask(MISTAKES[0] ?? {}, '10.4.2.17');
  return response.headers.get('x-request-id') ?? '';
}
