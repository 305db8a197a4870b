import type { OperatorChecks } from '../admission/operator-checks.ts';
import type { Access, Route } from '../server/koa-application.ts';

/**
 * The routes of the management port as the public one has them: probes as they are, and everything else for the operator alone.
 * Without an operator's token, there are only probes.
 *
 * @param checks those of the operator's token on the public port.
 */
export function routesOfOnePort(management: readonly Route[], checks: OperatorChecks): readonly Route[] {
  const found = management.find(({ access }) => access.kind === 'operator')?.access;
  const operator: Access | undefined =
    found?.kind === 'operator' ? { kind: 'operator', operator: found.operator.withChecks(checks) } : undefined;
  return management.flatMap((route) => {
    if (route.isProbe) return [route];
    return operator === undefined ? [] : [{ ...route, access: operator }];
  });
}
