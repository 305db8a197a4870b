import { createHash, timingSafeEqual } from 'node:crypto';
import type { OperatorChecks } from '../admission/operator-checks.ts';
import type { Authorization } from '../parsing/request-head.ts';
import { type Exchange, sendRefusal, signalOfClose } from './exchange.ts';
import { httpRefusal } from './http-refusal.ts';

/** Two header lines, since not every browser reads two challenges in one. `Basic` makes it ask for a password. */
const CHALLENGES = ['Basic realm="management", charset="UTF-8"', 'Bearer realm="management"'];

/**
 * Access with the operator's token, which is sent as a bearer token (RFC 6750 section 2.1), or as the password of `Basic` credentials
 * with any user name (RFC 7617), so that a browser can ask for it.
 */
export class OperatorAccess {
  readonly #digest: Buffer;
  readonly #checks: OperatorChecks;

  /** @param token the token, or its digest. */
  constructor(token: string | Buffer, checks: OperatorChecks) {
    this.#digest = typeof token === 'string' ? digestOf(token) : token;
    this.#checks = checks;
  }

  /** Access with the same token, whose checks wait apart: guesses at one port do not keep the operator from another. */
  withChecks(checks: OperatorChecks): OperatorAccess {
    return new OperatorAccess(this.#digest, checks);
  }

  /** Whether the request has the token. If not, answers with the refusal. */
  async admits(ctx: Exchange): Promise<boolean> {
    const { authorization } = ctx.state.head;
    if (authorization.kind === 'repeated') return refuse(ctx, 'authorization_repeated');
    if (authorization.kind === 'malformed') return refuse(ctx, 'authorization_malformed');
    const presented = presentedToken(authorization);
    if (presented === undefined) return challenge(ctx, 'token_missing');

    if (!(await this.#checks.wait(signalOfClose(ctx.res)))) return refuse(ctx, 'operator_checks_exhausted');
    // Nobody learns from a check whose answer nobody reads.
    if (ctx.req.socket.destroyed) return refuse(ctx, 'client_disconnected');
    if (timingSafeEqual(digestOf(presented), this.#digest)) return true;
    this.#checks.countWrong();
    return challenge(ctx, 'operator_token_wrong');
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
