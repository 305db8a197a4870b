import { answerRoutes, passedOnRoutes, routesOfOnePort } from '../../adapters/http/one-port/passed-on-routes.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { type Get, part } from '../registration.ts';
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
  register(parts, { settings, role }) {
    if (!settings.HEALTH_ON_PUBLIC_PORT) return;
    const routes = (get: Get) => routesOfOnePort(get(PARTS.managementRoutes));
    if (role === 'primary') return part(parts, PARTS.routeAnswers, (get) => answerRoutes(routes(get)));
    part(parts, LISTS.publicRoutes, (get) => {
      return role === 'worker' ? passedOnRoutes(routes(get), get(PARTS.routeAnswers)) : routes(get);
    });
  },
});
