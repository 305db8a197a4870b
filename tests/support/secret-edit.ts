import type { ClientEdit, StoredClient } from '../../application/ports/client-store.ts';
import { type Result, success } from '../../domain/result.ts';

/** The edit of a client that changes its secret and nothing else. */
export function secretEdit(change: (stored: string) => string): (stored: StoredClient) => Result<ClientEdit, never> {
  return ({ clientSecret }) => success({ clientSecret: change(clientSecret) });
}
