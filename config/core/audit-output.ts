import { type Core, PARTS } from '../container.ts';
import type { Feature } from '../feature.ts';

/** Opens the audit log. */
export function auditOutput(core: Core): Feature {
  const { checks, reopen, measured, ...audit } = core.resolve(PARTS.auditOutput);
  const log = core.resolve(PARTS.log);
  return {
    checks,
    close: () => audit.close(),
    ...(reopen && {
      reload: () =>
        reopen().then(
          () => log.info({ event: 'audit_file_reopened' }),
          (fault: unknown) => log.error({ event: 'audit_file_not_reopened', fault }),
        ),
    }),
    metrics(values) {
      values.total('auth_audit_lines_lost_total', measured.linesLost);
      values.gauge('auth_audit_buffered_bytes', measured.bufferedBytes, measured.bufferedBytesMax);
    },
  };
}
