import { IssuedTokens } from '../../application/token-reuse/issued-tokens.ts';
import { failure, success } from '../../domain/result.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import { settingsGroup } from '../settings/read-environment.ts';
import { wholeNumber } from '../settings/setting-kinds.ts';

const RULE = 'must be at most half of TOKEN_LIFETIME_SECONDS, so that each token is still valid for a while';

/** `TOKEN_REUSE_SECONDS`: the same token for the same request within a short time. */
export const tokenReuse = define({
  name: 'token-reuse',
  settings: settingsGroup({
    rows: {
      TOKEN_REUSE_SECONDS: wholeNumber(0, 3_600)
        .default(0)
        .describe(
          'for how long a request for the same client, scopes and resources gets the [same token](operations.md#issuing-a-token-again) again; at most half of `TOKEN_LIFETIME_SECONDS`. `0`: each request gets a new one',
        ),
    },
  }),
  read({ settings }) {
    const isLong = settings !== undefined && settings.TOKEN_REUSE_SECONDS > settings.TOKEN_LIFETIME_SECONDS / 2;
    return isLong ? failure([`TOKEN_REUSE_SECONDS: ${RULE}`]) : success(undefined);
  },
  register(parts, { settings: { TOKEN_REUSE_SECONDS: seconds } }) {
    if (seconds === 0) return;
    part(parts, PARTS.tokenReuse, (get) => new IssuedTokens({ keys: get(PARTS.keyProvider), seconds }));
    part(parts, LISTS.measurements, (get) => (values) => {
      const { size, max } = get(PARTS.tokenReuse) as IssuedTokens;
      values.gauge('auth_reusable_tokens', 'Tokens that are issued again for the same request.', size, max);
    });
  },
});
