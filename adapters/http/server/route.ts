import type { Scope } from '../../../domain/scope.ts';
import type { Exchange } from './exchange.ts';

/** Answers a request that has access to its route. */
export type Handler = (ctx: Exchange) => Promise<void>;

/** Who has access: everyone, or the bearer of a valid token that holds these scopes. There is no third kind and no default. */
export type Access = { readonly kind: 'public' } | { readonly kind: 'bearer'; readonly scope?: Scope };

/** One path and the methods that it answers. */
export interface Route {
  /** Matched exactly: case, trailing slash and percent-encoding count. A segment `:name` matches any one segment. */
  readonly path: string;
  readonly access: Access;
  readonly methods: Readonly<Partial<Record<'GET' | 'POST', Handler>>>;
}
