import { routesOfOnePort } from '../../adapters/http/one-port/routes-of-one-port.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import { settingsGroup } from '../settings/read-environment.ts';
import { trueOrFalse } from '../settings/setting-kinds.ts';

/** `HEALTH_ON_PUBLIC_PORT`: the paths of the management port on the public one, for platforms that have no other. */
export const onePort = define({
  name: 'one-port',
  settings: settingsGroup({
    rows: {
      HEALTH_ON_PUBLIC_PORT: trueOrFalse()
        .default(false)
        .describe(
          '`true` serves `/livez`, `/readyz` and `/readyz/verification` on `PORT` too, without a token, for [platforms with one port](operations.md#platforms-with-one-port). With `MANAGEMENT_TOKEN` also all other paths of the management port, such as `/metrics` and `/status`, for the operator only',
        ),
    },
  }),
  register(parts, { settings }) {
    if (!settings.HEALTH_ON_PUBLIC_PORT) return;
    part(parts, LISTS.publicRoutes, (get) => routesOfOnePort(get(PARTS.managementRoutes)));
  },
});
