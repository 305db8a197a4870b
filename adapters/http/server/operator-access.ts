import { createHash, timingSafeEqual } from 'node:crypto';
import type { Authorization } from '../parsing/request-head.ts';
import { type Exchange, sendRefusal } from './exchange.ts';
import { httpRefusal } from './http-refusal.ts';

/** Two header lines, since not every browser reads two challenges in one. `Basic` makes it ask for a password. */
const CHALLENGES = ['Basic realm="management", charset="UTF-8"', 'Bearer realm="management"'];

/**
 * Access with the operator's token, which is sent as a bearer token (RFC 6750 section 2.1), or as the password of
 * `Basic` credentials with any user name (RFC 7617), so that a browser can ask for it. Guesses are not slowed down: the
 * token has at least 32 characters, and a brake would keep the operator out while somebody guesses.
 */
export class OperatorAccess {
  readonly #digest: Buffer;

  constructor(token: string) {
    this.#digest = digestOf(token);
  }

  /** Whether the request has the token. If not, answers with the refusal. */
  admits(ctx: Exchange): boolean {
    const { authorization } = ctx.state.head;
    if (authorization.kind === 'repeated') return refuse(ctx, 'authorization_repeated');
    if (authorization.kind === 'malformed') return refuse(ctx, 'authorization_malformed');
    if (presentedToken(authorization) === undefined) return challenge(ctx, 'token_missing');
    return this.isSentBy(ctx) || challenge(ctx, 'operator_token_wrong');
  }

  /** Whether the request has the token. */
  isSentBy(ctx: Exchange): boolean {
    const presented = presentedToken(ctx.state.head.authorization);
    return presented !== undefined && timingSafeEqual(digestOf(presented), this.#digest);
  }
}

function presentedToken(authorization: Authorization): string | undefined {
  if (authorization.kind !== 'present') return undefined;
  const scheme = authorization.scheme.toLowerCase();
  if (scheme === 'bearer') return authorization.credentials;
  if (scheme !== 'basic') return undefined;
  const credentials = Buffer.from(authorization.credentials, 'base64').toString();
  return credentials.slice(credentials.indexOf(':') + 1);
}

/** Digests have one length, and their comparison tells nothing about the texts. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function challenge(ctx: Exchange, reason: 'token_missing' | 'operator_token_wrong'): false {
  ctx.set('WWW-Authenticate', CHALLENGES);
  return refuse(ctx, reason);
}

function refuse(ctx: Exchange, reason: Parameters<typeof httpRefusal>[0]): false {
  sendRefusal(ctx, httpRefusal(reason));
  return false;
}
