import { createHash } from 'node:crypto';
import type { Exchange } from '../server/exchange.ts';

/** Who may keep an answer: anybody's cache, or only the bearer's whose token was asked for. */
export type Cacheability = 'public' | 'private';

/**
 * Answers a JSON document that may be kept for so long (RFC 9111 section 5.2.2), with a strong validator; a caller who
 * has it already gets 304 (RFC 9110 section 13.1.2).
 */
export function answerCacheable(
  ctx: Exchange,
  document: object,
  cacheability: Cacheability,
  maxAgeSeconds: number,
): void {
  const body = JSON.stringify(document);
  ctx.remove('Pragma');
  ctx.set({
    'Cache-Control': `${cacheability}, max-age=${maxAgeSeconds}`,
    ETag: `"${createHash('sha256').update(body).digest('base64url')}"`,
  });
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.type = 'application/json';
  ctx.body = body;
}
