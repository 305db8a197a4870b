import { hostname } from 'node:os';
import type { InjectionToken } from 'tsyringe';
import { OPERATOR_LIMITS, OperatorChecks } from '../../adapters/http/admission/operator-checks.ts';
import { openApiEndpoint } from '../../adapters/http/endpoints/open-api-endpoint.ts';
import { TOKEN_PATH } from '../../adapters/http/endpoints/paths.ts';
import type { Access } from '../../adapters/http/server/koa-application.ts';
import { OperatorAccess } from '../../adapters/http/server/operator-access.ts';
import { inspectStatusPage } from '../../adapters/http/status-page/inspect-status-page.ts';
import { CLIENTS_MAX, RefusalRecords } from '../../adapters/http/status-page/refusal-records.ts';
import { ServiceStatus } from '../../adapters/http/status-page/service-status.ts';
import type { StatusQueue } from '../../adapters/http/status-page/status-data.ts';
import { SAMPLES_MAX } from '../../adapters/http/status-page/status-history.ts';
import { statusPageRoutes } from '../../adapters/http/status-page/status-page-routes.ts';
import { statusRoutes } from '../../adapters/http/status-page/status-routes.ts';
import type { PacedAttempts } from '../../adapters/secrets/paced-attempts.ts';
import type { VerificationQueue } from '../../adapters/secrets/verification-queue.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import type { SecretText } from '../../adapters/system/secret-text.ts';
import { type Result, success } from '../../domain/result.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import type { Settings } from '../settings/settings.ts';
import { readManagementToken, STATUS_SETTINGS } from './status-page/status-settings.ts';

/** What tests look into. */
export const STATUS_PARTS = {
  operatorChecks: Symbol('OperatorChecks') as InjectionToken<OperatorChecks>,
  refusalRecords: Symbol('RefusalRecords') as InjectionToken<RefusalRecords>,
  serviceStatus: Symbol('ServiceStatus') as InjectionToken<ServiceStatus>,
};
const { operatorChecks: CHECKS, refusalRecords: RECORDS, serviceStatus: STATUS } = STATUS_PARTS;

/** `MANAGEMENT_TOKEN`: the status of the service for its operator, as a page and as JSON, on the management port. */
export const statusPage = define({
  name: 'status-page',
  settings: STATUS_SETTINGS,
  read({ load, settings }): Result<SecretText | undefined, readonly string[]> {
    const file = load('MANAGEMENT_TOKEN_FILE', readManagementToken);
    return file.ok ? success(settings?.MANAGEMENT_TOKEN ?? file.value) : file;
  },
  register(parts, { settings, role }, token) {
    const { BASE_URL: baseUrl, TOKEN_ISSUER: issuer } = settings;
    if (token === undefined) return;
    if (role !== 'primary') {
      part(parts, RECORDS, (get) => new RefusalRecords(get(PARTS.clock), get(PARTS.processName)));
      part(parts, PARTS.refusalRecords, (get) => get(RECORDS));
      part(parts, LISTS.requestCounters, (get) => ({ count: (line) => get(RECORDS).add(line) }));
      part(parts, LISTS.measurements, (get) => (metrics) => {
        const records = get(RECORDS);
        metrics.measure({
          name: 'auth_refusal_records',
          help: 'Refused requests that can be looked up.',
          read: () => records.size,
        });
        metrics.measure({
          name: 'auth_refused_clients',
          help: 'Registered clients whose last refusals are kept.',
          read: () => records.clients,
          max: () => CLIENTS_MAX,
        });
      });
    }
    part(parts, CHECKS, (get) => {
      const checks = new OperatorChecks();
      get(PARTS.processMetrics).measure({
        name: 'auth_operator_checks_waiting',
        help: 'Requests whose operator token waits to be checked.',
        read: () => checks.waiting,
        max: () => OPERATOR_LIMITS.waiting,
      });
      return checks;
    });
    part(parts, STATUS, (get) => {
      const isListening = () => (role === 'primary' ? null : get(PARTS.httpServer).listening);
      const workers = () => get.optional(PARTS.workers);
      const thisReplica = () => ({
        name: `${hostname()}:${process.pid}`,
        clock_offset_seconds: get(PARTS.keyRing).clockOffsetSeconds() ?? null,
        seen_at: null,
      });
      return new ServiceStatus({
        clock: get(PARTS.clock),
        version: programVersion(),
        baseUrl,
        issuer,
        checks: get(PARTS.healthChecks),
        figures: () => get(PARTS.processMetrics).figures(TOKEN_PATH),
        workers: async () => (await workers()?.figures()) ?? new Map(),
        queue: () => statusQueue(get(PARTS.verificationQueue), get(PARTS.pacedAttempts), settings),
        keys: () => get(PARTS.keyRing).periods(),
        replicas: () => [thisReplica(), ...(get.optional(PARTS.replicaRegister)?.latest ?? [])],
        processes: () => [
          { name: 'primary', listening: isListening() },
          ...(workers()?.states() ?? []).map(({ id, listening }) => ({ name: `worker-${id}`, listening })),
        ],
        findRefusals: async (query) => {
          return workers()?.findRefusals(query) ?? { records: get(RECORDS).find(query), complete: true };
        },
      });
    });
    part(parts, LISTS.managementRoutes, (get) => {
      const access: Access = { kind: 'operator', operator: new OperatorAccess(token.reveal(), get(CHECKS)) };
      return [
        ...statusPageRoutes(access),
        ...statusRoutes(access, get(STATUS)),
        { path: '/openapi.json', access, methods: { GET: openApiEndpoint(baseUrl) } },
      ];
    });
    if (role === 'worker') return;
    part(parts, LISTS.background, (get) => () => {
      get(STATUS).start();
      void get.optional(PARTS.replicaRegister)?.start(() => get(PARTS.keyRing).clockOffsetSeconds());
    });
    part(parts, LISTS.closables, (get) => get(STATUS));
    part(parts, LISTS.measurements, (get) => (metrics) => {
      const status = get(STATUS);
      metrics.measure({
        name: 'auth_status_samples',
        help: 'Samples in the history of the status.',
        read: () => status.samples,
        max: () => SAMPLES_MAX,
      });
    });
  },
  inspect({ settings: { MANAGEMENT_HOST: host, MANAGEMENT_PORT: port } }, token) {
    const inspect = async () => inspectStatusPage({ host, port, hasToken: token !== undefined });
    return [{ name: 'status page', inspect }];
  },
});

/** The FIFO queue is bounded by its work: its bound is the number of verifications of the least cost of a refusal. */
function statusQueue(
  { load, limits }: VerificationQueue,
  paced: PacedAttempts,
  { CLIENT_SECRET_COST: cost }: Settings,
): StatusQueue {
  const fifo = Math.max(1, Math.floor((limits.fifoRounds * limits.concurrent) / 2 ** cost));
  const { concurrent: running, overflow, unanswered } = limits;
  return { ...load, paced: paced.size, bounds: { running, fifo, overflow, paced: paced.max, unanswered } };
}
