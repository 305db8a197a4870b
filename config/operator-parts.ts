import 'reflect-metadata';
import { hostname } from 'node:os';
import { type DependencyContainer, type InjectionToken, instanceCachingFactory } from 'tsyringe';
import { OPERATOR_LIMITS, OperatorChecks } from '../adapters/http/admission/operator-checks.ts';
import { TOKEN_PATH } from '../adapters/http/endpoints/discovery-endpoints.ts';
import { openApiEndpoint } from '../adapters/http/endpoints/open-api-endpoint.ts';
import type { Access, Route } from '../adapters/http/server/koa-application.ts';
import { OperatorAccess } from '../adapters/http/server/operator-access.ts';
import { CLIENTS_MAX, RefusalRecords } from '../adapters/http/status-page/refusal-records.ts';
import { ServiceStatus } from '../adapters/http/status-page/service-status.ts';
import type { StatusQueue } from '../adapters/http/status-page/status-data.ts';
import { SAMPLES_MAX } from '../adapters/http/status-page/status-history.ts';
import { statusPageRoutes } from '../adapters/http/status-page/status-page-routes.ts';
import { statusRoutes } from '../adapters/http/status-page/status-routes.ts';
import type { PacedAttempts } from '../adapters/secrets/paced-attempts.ts';
import type { VerificationQueue } from '../adapters/secrets/verification-queue.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import type { RequestCounter } from '../application/ports/telemetry.ts';
import { PARTS, type ProcessRole } from './parts.ts';
import type { Settings } from './settings/settings.ts';

// What is used only with MANAGEMENT_TOKEN: the status of the service for its operator.

/** Registers these parts. None of them is made before it is needed. */
export function registerOperatorParts(
  container: DependencyContainer,
  settings: Settings,
  role: ProcessRole,
  checks: () => readonly HealthCheck[],
): void {
  const get = <Part>(token: InjectionToken<Part>): Part => container.resolve(token);
  const part = <Part>(token: InjectionToken<Part>, create: () => Part) =>
    container.register(token, { useFactory: instanceCachingFactory(create) });

  // Without a shared key directory there are no others.
  container.registerInstance(PARTS.replicaRegister, { latest: [], start: async () => {} });
  part(PARTS.operatorChecks, () => new OperatorChecks());
  part(PARTS.refusalRecords, () => new RefusalRecords(get(PARTS.clock), 'primary'));
  part(PARTS.serviceStatus, () => {
    const pool = () => (role === 'primary' ? get(PARTS.workerPool) : undefined);
    const isListening = () => (role === 'primary' ? null : get(PARTS.httpServer).listening);
    const workers = () => pool()?.states() ?? [];
    const records = get(PARTS.refusalRecords);
    return new ServiceStatus({
      clock: get(PARTS.clock),
      version: programVersion(),
      baseUrl: settings.BASE_URL,
      issuer: settings.TOKEN_ISSUER,
      checks,
      figures: () => get(PARTS.processMetrics).figures(TOKEN_PATH),
      workers: async () => (await pool()?.figures()) ?? new Map(),
      queue: () => statusQueue(get(PARTS.verificationQueue), get(PARTS.pacedAttempts), settings),
      keys: () => get(PARTS.keyRing).periods(),
      replicas: () => [
        {
          name: `${hostname()}:${process.pid}`,
          clock_offset_seconds: get(PARTS.keyRing).clockOffsetSeconds() ?? null,
          seen_at: null,
        },
        ...get(PARTS.replicaRegister).latest,
      ],
      processes: () => [
        { name: 'primary', listening: isListening() },
        ...workers().map(({ id, listening }) => ({ name: `worker-${id}`, listening })),
      ],
      findRefusals: async (query) => pool()?.findRefusals(query) ?? { records: records.find(query), complete: true },
    });
  });
}

/** Where the public port counts its requests. */
export function requestCounter(container: DependencyContainer, { MANAGEMENT_TOKEN: token }: Settings): RequestCounter {
  const metrics = container.resolve(PARTS.processMetrics);
  if (token === undefined) return metrics;
  const records = container.resolve(PARTS.refusalRecords);
  return {
    count(line) {
      metrics.count(line);
      records.add(line);
    },
  };
}

/** The routes of the management port that need MANAGEMENT_TOKEN; none without it. */
export function operatorRoutes(
  container: DependencyContainer,
  { MANAGEMENT_TOKEN: token, BASE_URL: baseUrl }: Settings,
): readonly Route[] {
  if (token === undefined) return [];
  const operator = new OperatorAccess(token.reveal(), container.resolve(PARTS.operatorChecks));
  const access: Access = { kind: 'operator', operator };
  return [
    ...statusPageRoutes(access),
    ...statusRoutes(access, container.resolve(PARTS.serviceStatus)),
    { path: '/openapi.json', access, methods: { GET: openApiEndpoint(baseUrl) } },
  ];
}

/** Starts what these parts do in the background, once the keys are published. */
export function startOperatorParts(container: DependencyContainer): void {
  container.resolve(PARTS.serviceStatus).start();
  const keyRing = container.resolve(PARTS.keyRing);
  void container.resolve(PARTS.replicaRegister).start(() => keyRing.clockOffsetSeconds());
}

/** Adds what these parts hold to the metrics of a process of this role. */
export function measureOperatorParts(
  container: DependencyContainer,
  { MANAGEMENT_TOKEN: token }: Settings,
  role: ProcessRole,
): void {
  if (token === undefined) return;
  const metrics = container.resolve(PARTS.processMetrics);
  if (role !== 'primary') {
    const records = container.resolve(PARTS.refusalRecords);
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
  }
  if (role !== 'worker') {
    const checks = container.resolve(PARTS.operatorChecks);
    metrics.measure({
      name: 'auth_operator_checks_waiting',
      help: 'Requests whose operator token waits to be checked.',
      read: () => checks.waiting,
      max: () => OPERATOR_LIMITS.waiting,
    });
    const status = container.resolve(PARTS.serviceStatus);
    metrics.measure({
      name: 'auth_status_samples',
      help: 'Samples in the history of the status.',
      read: () => status.samples,
      max: () => SAMPLES_MAX,
    });
  }
}

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
