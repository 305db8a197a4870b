import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { guessFor } from './attack-requests.ts';
import { NO_ANSWER, RawConnection } from './raw-connection.ts';

const OWNER_RETRY_MS = 250;
const OWNER_MS_MAX = 20_000;

/** How long each wrong request waits for its answer before it is abandoned, in milliseconds. */
const ABANDON_MS = 100;

/** Another address of this machine, on Linux. */
const OTHER_ADDRESS = '127.0.0.2';

export interface LockOutJob {
  readonly port: number;
  readonly clientId: string;
  /** A request of the owner, with the right secret. */
  readonly ownRequest: string;
}

/**
 * Sends wrong requests for one client id and abandons them, all within two seconds and from the owner's address. Returns how
 * many milliseconds after the burst the owner has a token; null if there is none after 20 s.
 */
export async function measureLockOut({ port, clientId, ownRequest }: LockOutJob, wrong = 310): Promise<number | null> {
  const everyMs = 2_000 / wrong;
  const begin = performance.now();
  for (let n = 0; n < wrong; n += 1) {
    if (performance.now() < begin + n * everyMs) await delay(everyMs);
    abandonGuess(port, clientId);
  }
  await delay(ABANDON_MS);
  const end = performance.now();
  const owner = new RawConnection(port);
  while (performance.now() < end + OWNER_MS_MAX) {
    if ((await owner.send(ownRequest)) === 200) return performance.now() - end;
    await delay(OWNER_RETRY_MS);
  }
  return null;
}

function abandonGuess(port: number, clientId: string): void {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(guessFor(clientId));
  setTimeout(() => socket.destroy(), ABANDON_MS);
}

/** What the right secret gets behind a burst of guesses from the attacker's address. */
export interface HiddenGuess {
  readonly status: number;
  readonly milliseconds: number;
}

/**
 * The owner gets a token at another address, so that the secret is cached. Then one burst of guesses for this client, 15 to
 * a connection, and the right secret behind them, from an address where it was never used.
 */
export async function measureHiddenGuess(
  { port, clientId, ownRequest }: LockOutJob,
  wrong = 1_950,
): Promise<HiddenGuess> {
  if ((await sendFrom(OTHER_ADDRESS, port, ownRequest)) !== 200) throw new Error('the owner got no token');
  const perConnection = 15;
  const sockets = Array.from({ length: wrong / perConnection }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    socket.write(Array.from({ length: perConnection }, () => guessFor(clientId)).join(''));
    return socket;
  });
  const begin = performance.now();
  const status = await sendFrom('127.0.0.1', port, ownRequest);
  for (const socket of sockets) socket.destroy();
  return { status, milliseconds: performance.now() - begin };
}

/** The status of one request on a connection of its own. */
function sendFrom(localAddress: string, port: number, request: string): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.setEncoding('latin1');
    socket.write(request);
    socket.once('data', (text: string) => {
      resolve(Number(text.slice(9, 12)));
      socket.destroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(NO_ANSWER));
  });
}
