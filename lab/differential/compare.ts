import { setTimeout as delay } from 'node:timers/promises';
import type { HostileRequest } from '../../tests/hostile/hostile-request.ts';
import { openRawExchange } from '../../tests/hostile/raw-exchange.ts';

/** How two servers answer the same request. */
export interface Comparison {
  readonly name: string;
  /** Status and `error`, such as `400 invalid_request`; `200 token`; `no response`. */
  readonly service: string;
  readonly peer: string;
}

/** Milliseconds after which a server does not answer any more. */
const ANSWER_MS_MAX = 5_000;

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const TOKEN_PATH = '/oauth2/token';

/** Whether it is one request to the token endpoint. Others have no counterpart in another server. */
export function isTokenRequest({ bytes, answers }: HostileRequest): boolean {
  return typeof bytes === 'string' && answers.length === 1 && /^POST \/oauth2\/token[? ]/.test(bytes);
}

/** Sends the request to both servers, to the token endpoint of each. */
export async function compare(request: HostileRequest, port: number, peerPort: number): Promise<Comparison> {
  const bytes = String(request.bytes);
  const [service, peer] = await Promise.all([
    responseOf(port, bytes),
    responseOf(peerPort, bytes.replace(TOKEN_PATH, '/token')),
  ]);
  return { name: request.name, service, peer };
}

/** The first response to these bytes, in words. */
async function responseOf(port: number, bytes: string): Promise<string> {
  const exchange = openRawExchange(port);
  exchange.write(bytes);
  const deadline = Date.now() + ANSWER_MS_MAX;
  while (!exchange.isClosed() && !isAnswered(exchange.received().replace(CONTINUE, '')) && Date.now() < deadline)
    await delay(5);
  if (!exchange.isClosed()) exchange.reset();
  const received = exchange.received().replace(CONTINUE, '');
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(received) ?? [];
  if (status === undefined) return 'no response';
  const { error, access_token: token } = bodyOf(received);
  return `${status} ${token === undefined ? (error ?? 'without JSON') : 'token'}`;
}

/** Whether a response with a length has arrived. Others end with their connection. */
function isAnswered(received: string): boolean {
  const { body, length } = split(received);
  return body.length >= length;
}

function bodyOf(received: string): { readonly error?: string; readonly access_token?: string } {
  const { body, length } = split(received);
  try {
    return JSON.parse(body.slice(0, length));
  } catch {
    return {};
  }
}

function split(received: string): { readonly body: string; readonly length: number } {
  const length = /\r\ncontent-length: (\d+)/i.exec(received)?.[1];
  return { body: received.slice(received.indexOf('\r\n\r\n') + 4), length: Number(length ?? Infinity) };
}
