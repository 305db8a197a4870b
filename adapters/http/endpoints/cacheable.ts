import { createHash } from 'node:crypto';
import type { Exchange } from '../server/exchange.ts';

/** Which caches may store a response: all, or only that of the client whose token was checked (RFC 9111 section 5.2.2). */
export type Cacheability = 'public' | 'private';

/**
 * Answers with a JSON document that caches may store, and a strong validator; a client that has the same document gets
 * 304 (RFC 9110 section 13.1.2).
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
