import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { readResponses } from '../hostile/raw-exchange.ts';
import { isRecorded, recordResponse } from './response-record.ts';

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body, parsed. Throws if it is not JSON. */
  json(): Record<string, unknown>;
}

interface HttpRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

/** Sends one request on a new connection, with Node's own HTTP client, which corrects nothing. */
export function send(
  url: string,
  path: string,
  { method = 'GET', headers = {}, body }: HttpRequest = {},
): Promise<HttpResponse> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, path, method, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers: answered } = incoming;
        recordResponse(Number(port), { request: { method, target: path }, status, headers: answered, body: text });
        resolve({
          status,
          headers: answered,
          text,
          json: () => JSON.parse(text) as Record<string, unknown>,
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

export type FormFields = Readonly<Record<string, string>>;

/** POST /oauth2/token with a form, as a client does. */
export function requestToken(
  url: string,
  form: FormFields | string | Buffer,
  headers: HttpRequest['headers'] = {},
): Promise<HttpResponse> {
  const body = typeof form === 'string' || Buffer.isBuffer(form) ? form : new URLSearchParams(form).toString();
  return send(url, '/oauth2/token', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body,
  });
}

/** The access token of a client with valid credentials. Throws if no token is issued. */
export async function getAccessToken(
  url: string,
  clientId: string,
  clientSecret: string,
  more: FormFields = {},
): Promise<string> {
  const response = await requestToken(url, {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    ...more,
  });
  if (response.status !== 200) throw new Error(`no token: ${response.status} ${response.text}`);
  return String(response.json()['access_token']);
}

/** Writes bytes to a socket unchanged, and resolves with everything received until the server closes the connection. */
export function sendRaw(port: number, ...chunks: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8');
    socket.on('data', (text) => {
      received += text;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET') reject(error);
    });
    socket.on('close', () => {
      if (isRecorded(port)) recordRaw(port, String(chunks[0]), received);
      resolve(received);
    });
    for (const chunk of chunks) socket.write(chunk);
  });
}

/** Only the first request can be told with certainty: what follows may be part of its body. */
function recordRaw(port: number, sent: string, received: string): void {
  const [, method, target] = /^([A-Z]+) (\S+) HTTP\/1\.[01]\r\n/.exec(sent) ?? [];
  const first = method !== undefined && target !== undefined ? { method, target } : undefined;
  for (const [index, { status, headers, body }] of readResponses(received, () => method === 'HEAD').entries()) {
    const request = index === 0 ? first : undefined;
    recordResponse(port, { request, status, headers: Object.fromEntries(headers), body });
  }
}
