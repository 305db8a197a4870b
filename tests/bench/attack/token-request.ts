import { type Agent, request } from 'node:http';

/** How long a client waits for its answer, in milliseconds. */
const PATIENCE_MS = 10_000;

export interface TokenAnswer {
  /** The status, or the system's code where there was no answer. */
  readonly outcome: string;
  /** Seconds of Retry-After; 0 without. */
  readonly retryAfterSeconds: number;
}

/** Asks for a token as a client does. Never rejects. */
export function requestTokenAs(
  clientId: string,
  { tokenUrl, secret }: { readonly tokenUrl: string; readonly secret: string },
  agent: Agent,
): Promise<TokenAnswer> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: secret });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return new Promise((resolve) => {
    const fail = (error: NodeJS.ErrnoException) => resolve({ outcome: error.code ?? error.name, retryAfterSeconds: 0 });
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const outgoing = request(tokenUrl, { method: 'POST', headers, agent, signal }, (answer) => {
      const retryAfterSeconds = Number(answer.headers['retry-after'] ?? 0);
      answer.resume();
      answer.on('error', fail);
      answer.on('end', () => resolve({ outcome: String(answer.statusCode), retryAfterSeconds }));
    });
    outgoing.on('error', fail);
    outgoing.end(body.toString());
  });
}
