import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import type { PreparedRequest, Target, TargetResponse } from './check.ts';

/** Milliseconds until a response has to be there. */
const ANSWER_MS = 10_000;

/** A server behind a socket. Each request has its own connection. */
export function serverAt(base: URL): Target {
  const send = base.protocol === 'https:' ? requestHttps : requestHttp;
  return ({ method, path, headers, body }) =>
    new Promise((resolve, reject) => {
      // As an array, a field may come twice.
      const fields = [
        ...['host', base.host, 'connection', 'close'],
        ...headers.flat(),
        ...(body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))]),
      ];
      const options = { method, path, headers: fields as unknown as NodeJS.Dict<string>, agent: false };
      const sent = send(base, { ...options, signal: AbortSignal.timeout(ANSWER_MS) }, (response) => {
        text(response).then(
          (body) => resolve({ status: response.statusCode ?? 0, headers: joined(response.headers), text: body }),
          reject,
        );
      });
      sent.once('error', reject);
      sent.end(body);
    });
}

/** A function from a Request to a Response. */
export function functionTarget(fetch: (request: Request) => Promise<Response>, base: string): Target {
  return async ({ method, path, headers, body }: PreparedRequest): Promise<TargetResponse> => {
    const request = new Request(`${base}${path}`, {
      method,
      headers: headers.map(([name, value]) => [name, value] as [string, string]),
      ...(body !== undefined && { body }),
    });
    const response = await fetch(request);
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  };
}

function joined(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
