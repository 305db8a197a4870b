import type { IncomingHttpHeaders } from 'node:http';
import { TOKEN_PLACEHOLDER } from './token-placeholder.ts';

/** A request of a contract, as Pact's proxy has read it and is about to send it. */
export interface ReplayedRequest {
  readonly headers: IncomingHttpHeaders;
  body?: unknown;
}

/** Makes a request what its contract means: with the token, if there is one, for the placeholder, and with a form that is a form again. */
export function replayRequest(request: ReplayedRequest, accessToken: string | undefined): void {
  if (accessToken !== undefined && request.headers.authorization === `Bearer ${TOKEN_PLACEHOLDER}`) {
    request.headers.authorization = `Bearer ${accessToken}`;
  }
  if (request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')) {
    const form = Buffer.from(encodeForm(request.body));
    request.headers['content-length'] = String(form.length);
    request.body = form;
  }
}

/** Pact's proxy reads a form into an object, and would send it on as JSON (pact-foundation/pact-js, issue 884). */
function encodeForm(form: unknown): string {
  const encoded = new URLSearchParams();
  for (const [name, value] of Object.entries(form ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one !== 'string')
        throw new Error(`the form parameter ${name} is no text, and cannot be sent as it was`);
      encoded.append(name, one);
    }
  }
  return encoded.toString();
}
