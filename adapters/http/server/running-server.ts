import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { HealthCheck, Readiness } from '../../../application/ports/health-check.ts';
import type { HttpLoad } from '../../../application/ports/telemetry.ts';
import type { ListenOptions } from './listening-sockets.ts';

export interface Address {
  readonly address: string;
  readonly port: number;
}

/** `planned`: a load balancer sends requests here and gets the grace time to stop. `immediate`: a person waits. */
export type ShutdownMode = 'planned' | 'immediate';

/** What answers requests: a server on a port, or what a web server calls in its place. */
export interface RequestServer {
  readonly listening: boolean;
  readonly load: HttpLoad;
  /** Resolves with the address when requests are accepted. */
  listen(options: ListenOptions): Promise<AddressInfo>;
  /** From now on callers should go elsewhere. */
  retire(): void;
  /** Waits for the requests in progress. After `drainMs`, calls `endWaits`, which ends what they wait for. */
  close(drainMs: number, endWaits: () => void): Promise<void>;
}

type Listener = ListenOptions & { readonly server: RequestServer };

/** What is opened first is closed last. */
export interface RunningServerParts {
  /** Opened first, so that it answers probes during startup. */
  readonly management?: Listener | undefined;
  /** The public port, opened last. */
  readonly listener: () => Listener;
  /** Called when everything but the public port is there. Resolves when the first request can be answered. */
  readonly publish?: () => Promise<void>;
  readonly lifecycle: Lifecycle;
  /** Milliseconds of a planned shutdown in which requests are still accepted. */
  readonly graceMs: number;
  /** Milliseconds that requests in progress have to finish. */
  readonly drainMs: number;
  /** Ends what requests wait for, such as a verification. Called more than once. */
  readonly endWaits: () => void;
  /** In the order in which they were opened. */
  readonly closables: readonly { close(): Promise<void> }[];
  /** What SIGHUP does: opens log files again. Never rejects. */
  readonly reopenFiles?: (() => Promise<void>) | undefined;
  readonly log: (event: 'started' | 'stopping' | 'stopped' | 'sighup_ignored', address?: Address) => void;
}

export interface RunningServer {
  readonly host: string;
  readonly port: number;
  /** Stops without losing a request. May be called more than once: a later `immediate` ends the grace time. */
  stop(mode: ShutdownMode): Promise<void>;
  /** Milliseconds of the grace and drain times. */
  stopsWithinMs(mode: ShutdownMode): number;
  /** At SIGHUP: opens its files again, or logs that there is none. Never rejects. */
  hangUp(): Promise<void>;
}

/** The name of the check. */
export const LIFECYCLE = 'service';

/** Whether the server accepts requests: from when it listens until it stops. One of the checks of /readyz. */
export class Lifecycle implements HealthCheck {
  readonly name = LIFECYCLE;
  /** Set while the server starts and stops. */
  state: 'starting' | 'ready' | 'stopping' = 'starting';

  readiness(): Readiness {
    if (this.state === 'ready') return { ready: true };
    const fix = this.state === 'starting' ? 'wait until it is ready' : 'wait until it has ended, and start it again';
    return { ready: false, reason: { code: this.state, text: this.state, fix } };
  }
}

/** Resolves when everything listens. If something cannot, rejects with the reason and leaves nothing open. */
export async function startServer(parts: RunningServerParts): Promise<RunningServer> {
  const { management, listener, publish, lifecycle, log } = parts;
  const opened: RequestServer[] = [];
  const open = async ({ server, ...options }: Listener) => {
    const address = await server.listen(options);
    opened.push(server);
    return address;
  };
  try {
    if (management !== undefined) await open(management);
    await publish?.();
    const { address, port } = await open(listener());
    lifecycle.state = 'ready';
    log('started', { address, port });

    let stopped: Promise<void> | undefined;
    const grace = new AbortController();
    return {
      host: address,
      port,
      stop(mode) {
        if (mode === 'immediate') grace.abort();
        stopped ??= stopServer(parts, opened, mode, grace.signal);
        return stopped;
      },
      stopsWithinMs: (mode) => (mode === 'planned' ? parts.graceMs : 0) + parts.drainMs,
      hangUp: async () => (parts.reopenFiles === undefined ? log('sighup_ignored') : parts.reopenFiles()),
    };
  } catch (error) {
    await closeAll(parts, opened, 0);
    throw error;
  }
}

/** Reports not ready, waits until load balancers have noticed, finishes the requests in progress and closes. */
async function stopServer(
  parts: RunningServerParts,
  opened: readonly RequestServer[],
  mode: ShutdownMode,
  graceEnded: AbortSignal,
): Promise<void> {
  const { lifecycle, graceMs, drainMs, log } = parts;
  log('stopping');
  lifecycle.state = 'stopping';
  for (const server of opened) server.retire();
  if (mode === 'planned') await delay(graceMs, undefined, { signal: graceEnded }).catch(() => {});
  await closeAll(parts, opened, drainMs);
  log('stopped');
}

/** The management listener, which opened first, closes last: /readyz answers until the end. */
async function closeAll(
  { endWaits, closables }: RunningServerParts,
  opened: readonly RequestServer[],
  drainMs: number,
): Promise<void> {
  for (const server of opened.toReversed()) await server.close(drainMs, endWaits);
  // The clients may all have disconnected while their verifications still wait.
  endWaits();
  for (const closable of closables.toReversed()) await closable.close();
}
