import type { Scope } from '../../../domain/scope.ts';
import type { Exchange } from './exchange.ts';

/** Answers a request that may come in. */
export type Handler = (ctx: Exchange) => Promise<void>;

/** Who may come in: anybody, or a bearer of a good token that holds these scopes. There is no third way and no default. */
export type Access = { readonly kind: 'public' } | { readonly kind: 'bearer'; readonly scope?: Scope };

/** One path and all that it answers. */
export interface Route {
  /** Matched to the letter: case, trailing slash and percent-encoding count. A segment `:name` matches any one segment. */
  readonly path: string;
  readonly access: Access;
  readonly methods: Readonly<Partial<Record<'GET' | 'POST', Handler>>>;
}
