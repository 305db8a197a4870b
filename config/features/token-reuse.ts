import { IssuedTokens } from '../../application/token-reuse/issued-tokens.ts';
import type { Feature } from '../feature.ts';
import { type Core, PARTS } from '../parts.ts';
import type { Settings } from '../settings/settings.ts';

interface TokenReuse extends Feature {
  readonly tokens: IssuedTokens;
}

/** `TOKEN_REUSE_SECONDS`: the same token for the same request within a short time. */
export function tokenReuse({ TOKEN_REUSE_SECONDS: seconds }: Settings, core: Core): TokenReuse | undefined {
  if (seconds === 0) return undefined;
  const tokens = new IssuedTokens({ keys: core.resolve(PARTS.keyProvider), seconds });
  return {
    tokens,
    metrics(values) {
      values.gauge('auth_reusable_tokens', tokens.size, tokens.max);
    },
  };
}
